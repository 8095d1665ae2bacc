use axum::{
    Json,
    body::Body,
    extract::State,
    http::{Request, request::Parts},
};
use folkmoot_protocol::{
    ErrorCode,
    limits::ENROLMENT_BYTES_MAX,
    messages::{EnrolRequest, EnrolResponse},
};

use crate::{
    device,
    http::{App, body, edge, signed},
    refusal::Refusal,
};

/// `POST /v1/enrol`
///
/// Anybody may ask, so little is read, in memory that all who ask share, and nothing is remembered before the token is known
/// to be good; an address with too many bad ones waits.
pub async fn enrol(State(app): State<App>, request: Request<Body>) -> Result<Json<EnrolResponse>, Refusal> {
    let (parts, body) = request.into_parts();
    let sender = app.edge.sender(&parts.headers, &parts.extensions);
    app.edge.failures.check(sender, (app.clock)(), edge::FAILED_TOO_OFTEN)?;
    let enrolled = enrol_within(&app, &parts, body).await;
    if let Err(refusal) = &enrolled
        && matches!(refusal.code(), ErrorCode::EnrolmentTokenInvalid | ErrorCode::SignatureInvalid)
    {
        app.edge.failures.count(sender, (app.clock)());
    }
    enrolled.map(Json)
}

async fn enrol_within(app: &App, parts: &Parts, body: Body) -> Result<EnrolResponse, Refusal> {
    body::check_type(&parts.headers, "application/json")?;
    let bytes = signed::read(app, parts, body, ENROLMENT_BYTES_MAX, &app.edge.strangers).await?;
    let message: EnrolRequest = body::json(&bytes)?;
    signed::authenticate_enrolment(app, parts, &message.public_key)?;
    let token = device::believed_token(&app.coordinator, &message.token).await?;
    signed::take_enrolment(app, parts, &message.public_key)?;
    device::enrol(&app.coordinator, &token, &message.public_key, (app.clock)()).await
}
