use std::time::Duration;

use axum::{
    Json,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::Request,
};
use folkmoot_protocol::{
    ErrorCode,
    messages::{Assignment, CheckInRequest, CheckInResponse},
};
use folkmoot_storage::ClientRecord;
use serde::Deserialize;

use crate::{
    device::{self, Offered},
    http::{App, signed},
    refusal::Refusal,
};

/// How often a waiting check-in looks for itself, in case another process drew its client.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckInQuery {
    #[serde(default)]
    wait_seconds: u32,
}

/// `POST /v1/check-in?wait_seconds=…`
pub async fn check_in(
    State(app): State<App>,
    query: Result<Query<CheckInQuery>, QueryRejection>,
    request: Request<Body>,
) -> Result<Json<CheckInResponse>, Refusal> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    let wait =
        Duration::from_secs(u64::from(query.map_err(malformed)?.wait_seconds)).min(app.limits.long_poll_max);
    let signed = signed::json::<CheckInRequest>(&app, request).await?;
    let offered = Offered::of(&signed.message);
    // Listen before looking: a draw between the two is not missed.
    let waiter = app.coordinator.waiter(signed.client.id);
    let wait_milliseconds = wait.as_millis() as u64;
    let found =
        device::check_in(&app.coordinator, &signed.client, &signed.message, wait_milliseconds, signed.now)
            .await;
    let found = match found {
        Ok(None) => await_assignment(&app, &signed.client, offered, &waiter, wait).await,
        other => other,
    };
    app.coordinator.forget_waiter(signed.client.id, &waiter);
    if let Some(assignment) = found? {
        return Ok(Json(CheckInResponse::Assigned { assignment }));
    }
    let now = (app.clock)();
    device::end_wait(&app.coordinator, &signed.client, offered, wait_milliseconds, now).await.map(Json)
}

async fn await_assignment(
    app: &App,
    client: &ClientRecord,
    offered: Offered<'_>,
    waiter: &tokio::sync::Notify,
    wait: Duration,
) -> Result<Option<Assignment>, Refusal> {
    let end = tokio::time::Instant::now() + wait;
    let mut closing = app.closing.clone();
    loop {
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() || *closing.borrow() {
            return Ok(None);
        }
        tokio::select! {
            () = waiter.notified() => {}
            _ = closing.changed() => {}
            () = tokio::time::sleep(left.min(LOOK_AGAIN)) => {}
        }
        // Who waited to the end is looked for once more by the answer.
        if *closing.borrow() || tokio::time::Instant::now() >= end {
            return Ok(None);
        }
        let found = device::assignment_of(&app.coordinator, client, offered, (app.clock)()).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
}
