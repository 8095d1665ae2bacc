use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_protocol::Problem;

/// Returns the response of an error: a problem document (RFC 9457).
pub fn problem_response(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(problem)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(milliseconds) = problem.retry_after_milliseconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(milliseconds.div_ceil(1000)));
    }
    response
}
