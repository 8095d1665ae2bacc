use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{Request, StatusCode},
};
use folkmoot_protocol::{
    ErrorCode,
    limits::SECURE_BYTES_MAX,
    secure::{SecureAnswered, SecureMessage, SecureProgress},
};
use folkmoot_rounds::{device, refusal::Refusal};
use serde::Deserialize;

use super::{
    ask::Listening,
    upload_update::assignment_id,
    wait::{goes_on, within},
};
use crate::http::{App, problem::Refused, signed};

/// The query for the coordinator's answer to a step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressQuery {
    after: SecureAnswered,
    #[serde(default)]
    wait_seconds: u32,
}

/// `POST /v1/assignments/{id}/secure`
pub async fn send(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<StatusCode, Refused> {
    let signed = signed::json_within::<SecureMessage>(&app, request, SECURE_BYTES_MAX).await?;
    let (id, coordinator) = (assignment_id(&id)?, &app.coordinator);
    device::secure_message(coordinator, &signed.client, id, &signed.message, signed.now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/assignments/{id}/secure?after=STEP&wait_seconds=…`
pub async fn progress(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Result<Query<ProgressQuery>, QueryRejection>,
    request: Request<Body>,
) -> Result<Json<SecureProgress>, Refused> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    let Query(ProgressQuery { after, wait_seconds }) = query.map_err(malformed)?;
    let client = signed::empty(&app, request).await?.client;
    let id = assignment_id(&id)?;
    let end = tokio::time::Instant::now() + within(wait_seconds, &app);
    loop {
        // Register before checking, so that a step that ends in between is not missed. A wake-up removes the poll.
        let listening = Listening::new(&app, client.id);
        let now = (app.clock)();
        let progress = device::secure_progress(&app.coordinator, &client, id, after, now).await?;
        if progress != SecureProgress::Wait || !goes_on(listening.waiter(), &app.stage, end).await {
            return Ok(Json(progress));
        }
    }
}
