use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::Request,
};
use folkmoot_protocol::{AssignmentId, ClientId, ErrorCode, messages::AskResponse};
use folkmoot_storage::ClientRecord;
use tokio::sync::Notify;

use super::{
    check_in::{LOOK_AGAIN, WaitQuery},
    upload_update::assignment_id,
};
use crate::{
    coordinator::Coordinator,
    device,
    http::{App, signed},
    refusal::Refusal,
};

/// `GET /v1/assignments/{id}/ask?wait_seconds=…`
pub async fn ask(
    State(app): State<App>,
    Path(id): Path<String>,
    query: Result<Query<WaitQuery>, QueryRejection>,
    request: Request<Body>,
) -> Result<Json<AskResponse>, Refusal> {
    let malformed = |error: QueryRejection| Refusal::new(ErrorCode::MalformedRequest, error.body_text());
    let wait = query.map_err(malformed)?.wait(&app);
    let client = signed::empty(&app, request).await?.client;
    // Listen before looking: an ask between the two is not missed.
    let listening = Listening::new(&app, client.id);
    let asked = await_ask(&app, &client, assignment_id(&id)?, &listening.waiter, wait).await?;
    Ok(Json(AskResponse { asked }))
}

/// A client that listens, until its request is answered or its connection is cut.
struct Listening {
    coordinator: Arc<Coordinator>,
    client: ClientId,
    waiter: Arc<Notify>,
}

impl Listening {
    fn new(app: &App, client: ClientId) -> Self {
        let waiter = app.coordinator.listeners.add(client);
        Self { coordinator: app.coordinator.clone(), client, waiter }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.coordinator.listeners.forget(self.client, &self.waiter);
    }
}

async fn await_ask(
    app: &App,
    client: &ClientRecord,
    id: AssignmentId,
    waiter: &Notify,
    wait: Duration,
) -> Result<bool, Refusal> {
    let end = tokio::time::Instant::now() + wait;
    let mut closing = app.closing.clone();
    loop {
        if device::is_asked(&app.coordinator, client, id, (app.clock)()).await? {
            return Ok(true);
        }
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() || *closing.borrow() {
            return Ok(false);
        }
        tokio::select! {
            () = waiter.notified() => {}
            _ = closing.changed() => {}
            // Another process may have asked.
            () = tokio::time::sleep(left.min(LOOK_AGAIN)) => {}
        }
    }
}
