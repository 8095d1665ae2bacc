use folkmoot_protocol::{Problem, limits::CONTROL_BYTES_MAX};
use reqwest::{Response, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;

use super::TransportError;

/// Returns a successful response unchanged. Converts a refusal to an error with the coordinator's problem document.
///
/// A response of another kind is not a refusal by the coordinator: it may be the page of a proxy or a captive portal.
pub(super) async fn check(response: Response) -> Result<Response, TransportError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_problem = content_type.is_some_and(|text| text.starts_with("application/problem+json"));
    if !is_problem {
        return Err(not_understood(status.as_u16(), "it is not a problem document"));
    }
    let problem: Problem = read_json(response).await?;
    Err(TransportError::Refused(Box::new(problem)))
}

/// Reads a JSON message. Fails if it is longer than [`CONTROL_BYTES_MAX`].
pub(super) async fn read_json<T: DeserializeOwned>(response: Response) -> Result<T, TransportError> {
    read_json_within(response, CONTROL_BYTES_MAX).await
}

/// Reads a JSON message. Fails if it is longer than `bytes_max`.
pub(super) async fn read_json_within<T: DeserializeOwned>(
    mut response: Response,
    bytes_max: usize,
) -> Result<T, TransportError> {
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(TransportError::Network)? {
        if bytes.len() + chunk.len() > bytes_max {
            return Err(not_understood(status, &format!("it is longer than {bytes_max} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&bytes).map_err(|error| not_understood(status, &error.to_string()))
}

pub(super) fn not_understood(status: u16, reason: &str) -> TransportError {
    TransportError::NotUnderstood { status, reason: reason.to_owned() }
}
