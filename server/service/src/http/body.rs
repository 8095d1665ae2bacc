use std::{ops::Deref, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use http_body_util::BodyExt;

use super::{
    App,
    edge::{Budget, Lent},
};

/// Refuses a body of another type than `expected`, or one that is compressed: a few bytes could become many.
pub fn check_type(headers: &HeaderMap, expected: &str) -> Result<(), Refusal> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Refusal::new(ErrorCode::UnsupportedMediaType, "send the body without content-encoding"));
    }
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::UnsupportedMediaType, format!("the content-type must be {expected}")))
}

/// A body that was read. Its memory is lent until it is dropped, so that a request which waits is counted.
pub struct Held {
    bytes: Bytes,
    _lent: Lent,
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a body of at most `bytes_max` within `timeout`, in memory of `budget`.
pub async fn read(body: Body, bytes_max: usize, timeout: Duration, budget: &Budget) -> Result<Held, Refusal> {
    let late =
        |_| Refusal::new(ErrorCode::RequestTimeout, format!("the body did not arrive within {timeout:?}"));
    tokio::time::timeout(timeout, read_all(body, bytes_max, budget)).await.map_err(late)?
}

async fn read_all(mut body: Body, bytes_max: usize, budget: &Budget) -> Result<Held, Refusal> {
    let (mut whole, mut lent) = (BytesMut::new(), budget.nothing());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(broken)?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > bytes_max {
            return Err(Refusal::new(
                ErrorCode::PayloadTooLarge,
                format!("the body is above {bytes_max} bytes"),
            ));
        }
        budget.cover(&mut lent, whole.len() + data.len())?;
        whole.extend_from_slice(&data);
    }
    Ok(Held { bytes: whole.freeze(), _lent: lent })
}

/// Receives what an operator brings. It may take long, but not without a byte.
pub async fn receive(app: &App, mut body: Body, limit: &str, bytes_max: usize) -> Result<Bytes, Refusal> {
    let idle = app.limits.upload_idle_timeout;
    let late = |_| Refusal::new(ErrorCode::RequestTimeout, format!("no byte arrived for {idle:?}"));
    let mut whole = BytesMut::new();
    while let Some(frame) = tokio::time::timeout(idle, body.frame()).await.map_err(late)? {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if whole.len() + data.len() > bytes_max {
            let detail = format!("the file is above {bytes_max} bytes, the limit `{limit}`");
            return Err(Refusal::new(ErrorCode::PayloadTooLarge, detail));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// The body ended before its end: the client or the network broke off.
pub fn broken(error: axum::Error) -> Refusal {
    Refusal::new(ErrorCode::MalformedRequest, format!("the body broke off: {error}"))
}

/// Reads JSON; the error names the field, line and column. No text in it has the character NUL, which databases and
/// terminals cannot take.
pub fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    if has_nul(bytes) {
        let detail = "a text in the body has the character NUL (\\u0000); leave it out";
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        Refusal::new(ErrorCode::MalformedRequest, format!("the body cannot be read: {error}"))
    })
}

/// Says whether a text of this JSON has the character NUL. JSON can only write it as an escape.
fn has_nul(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        // An escaped backslash escapes nothing itself.
        if rest[at + 1..].starts_with(b"u0000") {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_found_wherever_json_can_write_it() {
        for text in [r#"{"a":"\u0000"}"#, r#"{"a\u0000b":1}"#, r#"["x\\\u0000"]"#, r#""\n\u0000""#] {
            let refused = json::<serde_json::Value>(text.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::MalformedRequest, "{text}");
            assert!(refused.to_string().contains("NUL"), "{refused}");
        }
        for text in [r#"{"a":"\\u0000"}"#, r#"["\u0001"]"#, r#""u0000""#, r#""\\\\u0000""#] {
            assert!(json::<serde_json::Value>(text.as_bytes()).is_ok(), "{text}");
        }
        for broken in ["\\", "\"\\", "\"\\u00"] {
            assert!(json::<serde_json::Value>(broken.as_bytes()).is_err(), "{broken}");
        }
        assert!(json::<serde_json::Value>(b"\"a\0b\"").is_err(), "raw, it is no JSON");
    }
}
