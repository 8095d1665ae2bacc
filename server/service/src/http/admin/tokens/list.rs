use axum::{Extension, Json, extract::State};
use folkmoot_api::tokens::TokenView;
use folkmoot_protocol::Problem;
use folkmoot_storage::TokenRepository;

use crate::http::{
    App,
    admin::{access::Caller, tokens::view::token_view},
    problem::Refused,
};

/// Lists enrolment tokens, oldest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/admin/tokens", tag = "enrolment tokens", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = [TokenView]),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn list_tokens(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<TokenView>>, Refused> {
    let tokens = app.coordinator.storage.tokens(caller.organisation_id).await?;
    Ok(Json(tokens.into_iter().map(token_view).collect()))
}
