use std::{sync::Arc, time::Duration};

use axum::{Json, body::Body, extract::State, http::Request};
use folkmoot_protocol::{
    ClientId, OrganisationId, Timestamp,
    messages::{Assignment, CheckInRequest, CheckInResponse},
};
use folkmoot_rounds::{
    coordinator::Coordinator,
    device::{self, Offered},
    refusal::Refusal,
};
use folkmoot_storage::{CheckInRepository, ClientRecord};
use tokio::sync::Notify;
use tracing::Instrument;

use super::wait::{ReadQuery, goes_on, wait_of};
use crate::{
    http::{App, problem::Refused, signed},
    stage::Stage,
};

/// `POST /v1/check-in?wait_seconds=…`
pub async fn check_in(
    State(app): State<App>,
    query: ReadQuery,
    request: Request<Body>,
) -> Result<Json<CheckInResponse>, Refused> {
    let wait = wait_of(query, &app)?;
    let signed = signed::json::<CheckInRequest>(&app, request).await?;
    let is_held_back = app.coordinator.tenants.wait_milliseconds(signed.client.organisation_id, signed.now);
    let wait = if is_held_back.is_some() { Duration::ZERO } else { wait };
    let offered = Offered::of(&signed.message);
    // Register before checking, so that a draw in between is not missed.
    let wait_milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let offer_ends = device::offer_ends(wait_milliseconds, signed.now);
    let mut waiting = Waiting::new(&app, &signed.client, offer_ends);
    let found =
        device::check_in(&app.coordinator, &signed.client, &signed.message, wait_milliseconds, signed.now)
            .await;
    let found = match found {
        Ok(None) => await_assignment(&app, &signed.client, offered, &waiting.waiter, wait).await,
        other => other,
    };
    waiting.is_cut = false;
    drop(waiting);
    if let Some(assignment) = found? {
        return Ok(Json(CheckInResponse::Assigned { assignment }));
    }
    let now = (app.clock)();
    let answer = device::end_wait(&app.coordinator, &signed.client, offered, wait_milliseconds, now).await?;
    Ok(Json(answer))
}

/// A waiting client. If the connection closes, the client leaves the pool and cannot be drawn.
struct Waiting {
    coordinator: Arc<Coordinator>,
    client: ClientId,
    organisation_id: OrganisationId,
    offer_ends: Timestamp,
    waiter: Arc<Notify>,
    is_cut: bool,
}

impl Waiting {
    fn new(app: &App, client: &ClientRecord, offer_ends: Timestamp) -> Self {
        let (client, organisation_id) = (client.id, client.organisation_id);
        let waiter = app.coordinator.check_ins.add(client);
        let coordinator = app.coordinator.clone();
        Self { coordinator, client, organisation_id, offer_ends, waiter, is_cut: true }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // A client that was drawn meanwhile, or has reconnected, stays in the pool.
        if !self.coordinator.check_ins.forget(self.client, &self.waiter) || !self.is_cut {
            return;
        }
        let (coordinator, client, offer_ends) = (self.coordinator.clone(), self.client, self.offer_ends);
        let organisation_id = self.organisation_id;
        let withdrawal = async move {
            let _turn = coordinator.tenants.turn(organisation_id).await;
            if let Err(error) = coordinator.storage.withdraw_offer(client, offer_ends).await {
                tracing::warn!(%error, %client, "could not remove a disconnected client from the pool; its offer will expire");
            }
        };
        tokio::spawn(withdrawal.in_current_span());
    }
}

async fn await_assignment(
    app: &App,
    client: &ClientRecord,
    offered: Offered<'_>,
    waiter: &Notify,
    wait: Duration,
) -> Result<Option<Assignment>, Refusal> {
    let end = tokio::time::Instant::now() + wait;
    while goes_on(waiter, &app.stage, end).await {
        // At the end of the wait, the handler checks for an assignment once more.
        if *app.stage.borrow() == Stage::Closing || tokio::time::Instant::now() >= end {
            return Ok(None);
        }
        let found = device::assignment_of(&app.coordinator, client, offered, (app.clock)()).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
