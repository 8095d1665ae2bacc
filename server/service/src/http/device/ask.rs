use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::Request,
};
use folkmoot_protocol::{AssignmentId, ClientId, messages::AskResponse};
use folkmoot_rounds::{coordinator::Coordinator, device, refusal::Refusal};
use folkmoot_storage::ClientRecord;
use tokio::sync::Notify;

use super::{
    upload_update::assignment_id,
    wait::{ReadQuery, goes_on, wait_of},
};
use crate::http::{App, problem::Refused, signed};

/// `GET /v1/assignments/{id}/ask?wait_seconds=…`
pub async fn ask(
    State(app): State<App>,
    Path(id): Path<String>,
    query: ReadQuery,
    request: Request<Body>,
) -> Result<Json<AskResponse>, Refused> {
    let wait = wait_of(query, &app)?;
    let client = signed::empty(&app, request).await?.client;
    // Register before checking, so that an ask in between is not missed.
    let listening = Listening::new(&app, client.id);
    let asked = await_ask(&app, &client, assignment_id(&id)?, &listening.waiter, wait).await?;
    Ok(Json(AskResponse { asked }))
}

/// A listening client, until its request is answered or its connection closes.
pub(super) struct Listening {
    coordinator: Arc<Coordinator>,
    client: ClientId,
    waiter: Arc<Notify>,
}

impl Listening {
    pub(super) fn new(app: &App, client: ClientId) -> Self {
        let waiter = app.coordinator.listeners.add(client);
        Self { coordinator: app.coordinator.clone(), client, waiter }
    }

    pub(super) fn waiter(&self) -> &Notify {
        &self.waiter
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
    loop {
        if device::is_asked(&app.coordinator, client, id, (app.clock)()).await? {
            return Ok(true);
        }
        if !goes_on(waiter, &app.stage, end).await {
            return Ok(false);
        }
    }
}
