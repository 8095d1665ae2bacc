use std::{ops::Deref, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use folkmoot_edge::{Budget, Lent};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use http_body_util::BodyExt;

use super::App;

/// The maximum number of bytes that are read of a body that nobody needs.
const DISCARDED_BYTES_MAX: usize = 64 * 1024;
/// The time for which a body that nobody needs is read.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Rejects a body whose type is not `expected`, and compressed bodies, which could expand to many bytes.
pub fn check_type(headers: &HeaderMap, expected: &str) -> Result<(), Refusal> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Refusal::new(
            ErrorCode::UnsupportedMediaType,
            "compressed bodies are not supported; send the body without content-encoding",
        ));
    }
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::UnsupportedMediaType,
        format!("the content-type is missing or wrong; it must be {expected}"),
    ))
}

/// A body in memory. Its memory counts against the budget until this value is dropped, even while the request waits.
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

/// Reads a body of at most `bytes_max` bytes within `timeout`. Its memory counts against `budget`.
pub async fn read(body: Body, bytes_max: usize, timeout: Duration, budget: &Budget) -> Result<Held, Refusal> {
    let late = |_| {
        Refusal::new(
            ErrorCode::RequestTimeout,
            format!("the body did not arrive completely within {timeout:?}; send the request again"),
        )
    };
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
                format!("the body is too large: the limit is {bytes_max} bytes"),
            ));
        }
        budget.cover(&mut lent, whole.len() + data.len())?;
        whole.extend_from_slice(&data);
    }
    Ok(Held { bytes: whole.freeze(), _lent: lent })
}

/// Reads a body that nobody needs, up to 64 KiB and for at most a second.
pub async fn discard(mut body: Body) {
    let mut left = DISCARDED_BYTES_MAX;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            if length > left {
                return;
            }
            left -= length;
        }
    };
    // An error means that the time is over.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, read).await;
}

/// Receives an operator's upload. Its total time has no limit, but each pause between bytes is limited by
/// `upload_idle_timeout`.
pub async fn receive(app: &App, mut body: Body, limit: &str, bytes_max: usize) -> Result<Bytes, Refusal> {
    let idle = app.limits.upload_idle_timeout;
    let late = |_| {
        Refusal::new(ErrorCode::RequestTimeout, format!("no byte arrived for {idle:?}; send the file again"))
    };
    let mut whole = BytesMut::new();
    while let Some(frame) = tokio::time::timeout(idle, body.frame()).await.map_err(late)? {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if whole.len() + data.len() > bytes_max {
            let detail = format!("the file is too large: {limit} allows {bytes_max} bytes");
            return Err(Refusal::new(ErrorCode::PayloadTooLarge, detail));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Returns the refusal for a body that ended early, because the client or the network closed the connection.
pub fn broken(error: axum::Error) -> Refusal {
    Refusal::new(
        ErrorCode::MalformedRequest,
        format!("the body ended early: {error}; send the request again"),
    )
}

/// Parses a JSON body. An error names the field, line and column. Rejects texts that contain the character NUL, which
/// databases and terminals cannot handle.
pub fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    if has_nul(bytes) {
        let detail = "a text in the body contains the character NUL (\\u0000); remove it";
        return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::new(ErrorCode::MalformedRequest, format!("the body is not valid: {error}")))
}

/// Returns whether a JSON text contains the character NUL, which JSON can only express as an escape.
fn has_nul(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        // An escaped backslash does not start another escape.
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
