//! Moves HTTP/1 connections away from a coordinator that drains.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Version, header},
    middleware::Next,
    response::Response,
};

use super::App;
use crate::stage::Stage;

/// Ends an HTTP/1 connection after its current response, so that the next request opens a connection elsewhere.
///
/// Without this, the coordinator would close idle connections when it stops, and could lose a request in transit.
/// HTTP/2 needs no header: its closing handshake (GOAWAY) lets clients repeat such requests.
pub async fn close_connections(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_old = request.version() < Version::HTTP_2;
    let mut response = next.run(request).await;
    if is_old && *app.stage.borrow() != Stage::Serving {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
