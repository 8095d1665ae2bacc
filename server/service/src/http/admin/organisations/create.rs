use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
};
use folkmoot_api::{
    api_keys::CreatedApiKey,
    organisations::{CreateOrganisationRequest, CreatedOrganisation},
};
use folkmoot_protocol::{ErrorCode, OrganisationId, Problem, Role};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::{OrganisationRecord, SYSTEM_ORGANISATION, StorageError};

use super::organisation_view;
use crate::http::{
    App,
    admin::{
        access::Caller,
        api_keys::{draw_key, view::api_key_view},
        read,
    },
    problem::Refused,
};

/// Creates an organisation and its first API key. The response is the only one that contains the key's secret.
#[utoipa::path(
    post, path = "/v1/admin/organisations", tag = "organisations", security(("api_key" = ["system"])),
    request_body = CreateOrganisationRequest,
    responses(
        (status = 201, body = CreatedOrganisation),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn create_organisation(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<CreatedOrganisation>), Refused> {
    let request: CreateOrganisationRequest = read::json(&app, request).await?;
    let (coordinator, now) = (&app.coordinator, (app.clock)());
    let id = OrganisationId::from_random_bytes(coordinator.random_bytes());
    let name = String::from(request.name);
    let organisation =
        OrganisationRecord { id, name, created_at: now, closed_at: None, quotas: Default::default() };
    let (key, first_key) = draw_key(coordinator, id, "first key".into(), Role::Admin, now);
    let taken = || {
        let detail = format!(
            "the name {:?} is taken, perhaps by a closed organisation; use another",
            organisation.name
        );
        Refusal::new(ErrorCode::NameTaken, detail)
    };
    if organisation.name == SYSTEM_ORGANISATION {
        return Err(taken().into());
    }
    match coordinator.storage.database()?.create_organisation(&organisation, &first_key).await {
        Err(StorageError::NameTaken("organisation")) => return Err(taken().into()),
        created => created?,
    }
    tracing::info!(organisation = %id, by = %caller.who, "organisation created");
    let first_key = CreatedApiKey { api_key: key.to_string(), record: api_key_view(first_key) };
    let created = CreatedOrganisation { organisation: organisation_view(organisation), first_key };
    Ok((StatusCode::CREATED, Json(created)))
}
