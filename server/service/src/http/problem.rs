//! Converts errors into responses: problem documents (RFC 9457). No other file creates error responses.

use std::any::Any;

use axum::{
    http::Uri,
    response::{IntoResponse, Response},
};
use folkmoot_edge::{RequestId, problem_response};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;

/// The error type of handlers: a refusal that axum can send. Every error that converts to a [`Refusal`] also converts
/// to this type.
#[derive(Debug)]
pub struct Refused(pub Refusal);

impl<E: Into<Refusal>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(refusal) = self;
        metrics::counter!("folkmoot_refusals_total", "code" => refusal.code().as_str()).increment(1);
        let mut problem = *refusal.0;
        problem.request_id = RequestId::current().map(|id| id.to_string());
        tracing::debug!(code = %problem.code, detail = %problem.detail, "refused");
        problem_response(&problem)
    }
}

/// Responds to a path that does not exist.
pub async fn endpoint_unknown(uri: Uri) -> Refused {
    let path: String = uri.path().chars().take(100).collect();
    let detail = format!("there is no endpoint {path}; GET /openapi.json lists all endpoints");
    Refused(Refusal::new(ErrorCode::EndpointUnknown, detail))
}

/// Responds to a method that the path does not support.
pub async fn method_not_allowed() -> Refused {
    let detail = "this endpoint does not support the method; GET /openapi.json lists the methods";
    Refused(Refusal::new(ErrorCode::MethodNotAllowed, detail))
}

/// Responds after a handler panicked. A panic is a bug in the coordinator, but it ends only this request.
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(panic = text, "a handler panicked");
    let detail = "an internal error occurred; the coordinator's log has the reason";
    Refused(Refusal::new(ErrorCode::Internal, detail).retry_after(1_000)).into_response()
}
