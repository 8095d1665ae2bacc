use axum::{
    body::Body,
    extract::{Path, State},
    http::{Request, StatusCode},
};
use folkmoot_protocol::messages::AbortRequest;
use folkmoot_rounds::device;

use super::upload_update::assignment_id;
use crate::http::{App, problem::Refused, signed};

/// `POST /v1/assignments/{id}/abort`
pub async fn abort(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<StatusCode, Refused> {
    let signed = signed::json::<AbortRequest>(&app, request).await?;
    device::abort(&app.coordinator, &signed.client, assignment_id(&id)?, &signed.message, signed.now).await?;
    Ok(StatusCode::NO_CONTENT)
}
