use axum::{
    extract::{Path, State},
    http::header,
    response::{AppendHeaders, IntoResponse, Redirect, Response},
};
use folkmoot_protocol::Problem;
use folkmoot_sign_in::Attempt;

use super::{back_to_console, cookie, provider, refusal::refusal};
use crate::http::{App, problem::Refused};

/// Redirects a browser to an identity provider to sign in. Ignores every parameter: after the sign-in, the browser
/// always returns to the console.
#[utoipa::path(
    get, path = "/v1/admin/sign-in/{provider}", tag = "session",
    params(("provider" = String, Path, description = "The name of the identity provider")),
    responses(
        (status = 303, description = "A redirect to the provider, or to the console if the provider cannot be used",
            headers(("set-cookie" = String, description = "The cookie of this attempt"))),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn start_sign_in(State(app): State<App>, Path(name): Path<String>) -> Result<Response, Refused> {
    let provider = provider(&app, &name)?;
    let attempt = Attempt::from_random_bytes(app.coordinator.random_bytes());
    match provider.authorization_url(&attempt, (app.clock)()).await {
        Ok(url) => {
            let set = AppendHeaders([(header::SET_COOKIE, cookie::set(&attempt))]);
            Ok((set, Redirect::to(&url)).into_response())
        }
        Err(error) => {
            tracing::warn!(provider = name, %error, "a person cannot sign in");
            Ok(back_to_console(&refusal(&error)))
        }
    }
}
