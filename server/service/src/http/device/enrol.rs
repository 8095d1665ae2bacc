use axum::{
    Json,
    body::Body,
    extract::State,
    http::{Request, request::Parts},
};
use folkmoot_edge::tls::certificate_of;
use folkmoot_protocol::{
    ErrorCode,
    limits::ENROLMENT_BYTES_MAX,
    messages::{EnrolRequest, EnrolResponse},
};
use folkmoot_rounds::{device, refusal::Refusal};

use crate::http::{App, body, problem::Refused, signed};

/// `POST /v1/enrol`
///
/// Anybody may send this request. The request must therefore be small, and its memory is taken from a budget that all
/// unauthenticated senders share. Nothing is stored before the token is verified. An address that sends too many wrong
/// tokens is told to slow down. If it continues, its connection is closed.
pub async fn enrol(State(app): State<App>, request: Request<Body>) -> Result<Json<EnrolResponse>, Refused> {
    let (parts, body) = request.into_parts();
    let sender = app.edge.sender(&parts.headers, &parts.extensions);
    match enrol_within(&app, &parts, body).await {
        Err(refusal)
            if matches!(refusal.code(), ErrorCode::EnrolmentTokenInvalid | ErrorCode::SignatureInvalid) =>
        {
            Err(app.edge.failed(sender, (app.clock)()).err().map_or(refusal, Refusal).into())
        }
        enrolled => Ok(Json(enrolled?)),
    }
}

async fn enrol_within(app: &App, parts: &Parts, body: Body) -> Result<EnrolResponse, Refusal> {
    let named = certificate_of(&parts.extensions, (app.clock)()).map_err(Refusal)?;
    body::check_type(&parts.headers, "application/json")?;
    let held = signed::read(app, parts, body, ENROLMENT_BYTES_MAX, &app.edge.strangers).await?;
    let message: EnrolRequest = body::json(&held)?;
    let turn = app.edge.enrolments.acquire().await;
    // While the request waited in line, its body counted against the memory for unauthenticated senders.
    drop(held);
    signed::authenticate_enrolment(app, parts, &message.public_key)?;
    let now = (app.clock)();
    let verified = device::verified_token(&app.coordinator, &message.token, now).await?;
    drop(turn);
    device::check_organisation(&app.coordinator, verified.organisation_id, named).await?;
    app.coordinator.tenants.admit(verified.organisation_id, now)?;
    signed::take_enrolment(app, parts, &message.public_key).await?;
    device::enrol(&app.coordinator, &verified, &message.public_key, (app.clock)()).await
}
