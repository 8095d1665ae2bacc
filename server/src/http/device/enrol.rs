use axum::{Json, body::Body, extract::State, http::Request};
use folkmoot_protocol::messages::{EnrolRequest, EnrolResponse};

use crate::{
    device,
    http::{App, body, signed},
    refusal::Refusal,
};

/// `POST /v1/enrol`
pub async fn enrol(State(app): State<App>, request: Request<Body>) -> Result<Json<EnrolResponse>, Refusal> {
    let (parts, bytes) = signed::control(&app, request, true).await?;
    let message: EnrolRequest = body::json(&bytes)?;
    signed::authenticate_enrolment(&app, &parts, &message.public_key)?;
    device::enrol(&app.coordinator, &message, (app.clock)()).await.map(Json)
}
