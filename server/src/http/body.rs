use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use folkmoot_protocol::ErrorCode;
use http_body_util::BodyExt;

use super::{App, edge::Budget};
use crate::refusal::Refusal;

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

/// Reads a body of at most `bytes_max` within `timeout`, in memory of `budget`.
pub async fn read(
    body: Body,
    bytes_max: usize,
    timeout: Duration,
    budget: &Budget,
) -> Result<Bytes, Refusal> {
    let late =
        |_| Refusal::new(ErrorCode::RequestTimeout, format!("the body did not arrive within {timeout:?}"));
    tokio::time::timeout(timeout, read_all(body, bytes_max, budget)).await.map_err(late)?
}

/// What is read is parsed at once: memory is lent for as long as a sender takes.
async fn read_all(mut body: Body, bytes_max: usize, budget: &Budget) -> Result<Bytes, Refusal> {
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
    Ok(whole.freeze())
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

/// Reads JSON; the error names the field, line and column.
pub fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        Refusal::new(ErrorCode::MalformedRequest, format!("the body cannot be read: {error}"))
    })
}
