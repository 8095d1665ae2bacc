use axum::{Json, body::Body, extract::State, http::Request};
use folkmoot_api::session::CallerView;
use folkmoot_protocol::{ErrorCode, Problem, Role};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::SYSTEM_ORGANISATION;

use crate::http::{
    App,
    admin::{
        access::{self, Caller},
        session::view::who_view,
    },
    problem::Refused,
};

/// Returns the holder of the API key or session, with the role and the organisation. Every role may ask.
#[utoipa::path(
    get, path = "/v1/admin/me", tag = "session", security(("api_key" = [])),
    responses(
        (status = 200, body = CallerView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_me(State(app): State<App>, request: Request<Body>) -> Result<Json<CallerView>, Refused> {
    let (parts, _) = request.into_parts();
    let caller = access::caller(&app, &parts.method, &parts.headers);
    let caller = access::throttled(&app, &parts, caller).await?;
    let organisation = organisation(&app, &caller).await?;
    let (api_key_id, api_key_name, person) = who_view(caller.who);
    let role = caller.role.name().into();
    let expires_at = caller.expires_at;
    Ok(Json(CallerView { role, organisation, api_key_id, api_key_name, person, expires_at }))
}

async fn organisation(app: &App, caller: &Caller) -> Result<String, Refusal> {
    if caller.role == Role::System {
        return Ok(SYSTEM_ORGANISATION.into());
    }
    let all = app.coordinator.storage.database()?.organisations().await?;
    let own = all.into_iter().find(|one| one.id == caller.organisation_id);
    let missing = || {
        Refusal::new(
            ErrorCode::ResourceUnknown,
            "the organisation of this key does not exist; use another key",
        )
    };
    own.map(|one| one.name).ok_or_else(missing)
}
