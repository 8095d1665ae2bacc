use axum::{
    Json,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{Request, StatusCode},
};
use folkmoot_protocol::{
    ChannelName, ErrorCode,
    messages::{RolloutReport, RolloutResponse},
};
use folkmoot_rounds::{device, refusal::Refusal};
use serde::Deserialize;

use crate::http::{App, problem::Refused, signed};

/// The query of `GET /v1/model`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelQuery {
    #[serde(default)]
    channel: ChannelName,
}

/// `GET /v1/model?channel=…`
pub async fn get_model(
    State(app): State<App>,
    query: Result<Query<ModelQuery>, QueryRejection>,
    request: Request<Body>,
) -> Result<Json<RolloutResponse>, Refused> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    let Query(ModelQuery { channel }) = query.map_err(malformed)?;
    let signed = signed::empty(&app, request).await?;
    let rollout = device::rollout_for(&app.coordinator, &signed.client, &channel, signed.now).await?;
    Ok(Json(RolloutResponse { rollout }))
}

/// `POST /v1/model/report`
pub async fn report_model(State(app): State<App>, request: Request<Body>) -> Result<StatusCode, Refused> {
    let signed = signed::json::<RolloutReport>(&app, request).await?;
    device::report_rollout(&app.coordinator, &signed.client, &signed.message, signed.now).await?;
    Ok(StatusCode::NO_CONTENT)
}
