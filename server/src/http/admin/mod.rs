//! The endpoints of operators, under API keys with roles.

use axum::Router;

use super::App;

/// Returns the routes below `/v1/admin`.
pub fn routes() -> Router<App> {
    Router::new()
}
