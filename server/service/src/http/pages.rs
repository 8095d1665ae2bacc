//! The limit on public pages.

use axum::{body::Body, extract::State, http::Request, middleware::Next, response::Response};

use super::{App, problem::Refused};

/// Serves public content, unless the address requests it too often. The content is large, and serving it costs work.
pub async fn limit(State(app): State<App>, request: Request<Body>, next: Next) -> Result<Response, Refused> {
    let sender = app.edge.sender(request.headers(), request.extensions());
    app.edge.pages.check(sender, (app.clock)(), "this address requests too many pages; slow down")?;
    Ok(next.run(request).await)
}
