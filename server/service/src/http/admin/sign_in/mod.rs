//! Sign-in with an identity provider: a browser goes to the provider and comes back with a code, or a program shows a code
//! that a person enters at the provider.

pub(crate) mod callback;
mod cookie;
pub(crate) mod device;
mod enter;
pub(crate) mod list;
mod refusal;
pub(crate) mod start;

use axum::{
    Router, middleware,
    response::{IntoResponse, Redirect},
    routing::{get, post},
};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_sign_in::Provider;

use crate::http::{App, pages};

/// Returns the routes, which need no key. They are limited like public pages.
pub fn routes(app: &App) -> Router<App> {
    Router::new()
        .route("/sign-in", get(list::list_providers))
        .route("/sign-in/{provider}", get(start::start_sign_in))
        .route("/sign-in/{provider}/callback", get(callback::finish_sign_in))
        .route("/sign-in/{provider}/device", post(device::begin_device_sign_in))
        .route("/sign-in/{provider}/device/token", post(device::finish_device_sign_in))
        .layer(middleware::from_fn_with_state(app.clone(), pages::limit))
}

fn provider<'a>(app: &'a App, name: &str) -> Result<&'a Provider, Refusal> {
    app.providers.get(name).ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        let detail =
            format!("there is no identity provider {name}; GET /v1/admin/sign-in lists all providers");
        Refusal::new(ErrorCode::ResourceUnknown, detail)
    })
}

/// Redirects a browser to the console, which says why the sign-in was refused. The address is always our own, and
/// contains only a code.
fn back_to_console(refusal: &Refusal) -> axum::response::Response {
    Redirect::to(&format!("/console/?refused={}", refusal.code())).into_response()
}
