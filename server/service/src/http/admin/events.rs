//! What changes, while it changes: server-sent events, for pages.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Method},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use folkmoot_protocol::{ErrorCode, OrganisationId, Problem, TaskId, Timestamp};
use folkmoot_rounds::{clock::Clock, coordinator::Coordinator, refusal::Refusal};
use folkmoot_storage::StorageError;
use futures::{StreamExt, stream};
use serde::Serialize;
use tokio::sync::broadcast;

use super::access::{self, Caller};
use crate::http::{App, problem::Refused};

/// Pages that listen to one process, at most; others ask from time to time.
const LISTENERS_MAX: usize = 256;
/// How often is looked what has changed, while somebody listens.
const LOOK: Duration = Duration::from_millis(500);
/// How often a page hears that the connection lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often is looked whether whoever listens still may.
const LOOK_AT_KEY: Duration = Duration::from_secs(2);
/// How long one answer lasts: then the page asks anew.
const ANSWER_MAX: Duration = Duration::from_secs(900);
/// Tasks that got a version within this time are looked at, too: one may begin and end between two looks.
const RECENT_MILLISECONDS: u64 = 60_000;
/// Changes that a page may lag behind before it is told to look at everything.
const LAG_MAX: usize = 64;

/// Tasks that have changed.
#[derive(Clone, Debug, Serialize)]
struct Changed {
    task_ids: Vec<TaskId>,
}

/// An event, as the OpenAPI document describes it.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "the document is made of it, and nothing else")]
struct ServerSentEvent {
    /// `hello` or `tasks`.
    event: String,
    /// JSON: nothing in it for `hello`, the field `task_ids` for `tasks`.
    data: String,
}

/// Who listens, by organisation. One look at the database serves all of one organisation's pages.
#[derive(Default)]
pub struct Listeners {
    of_organisation: Mutex<HashMap<OrganisationId, Weak<broadcast::Sender<Changed>>>>,
}

impl Listeners {
    /// Joins those who listen; `None` if there are too many. The sender is what keeps the looking alive.
    fn join(&self, organisation_id: OrganisationId, app: &App) -> Option<Listener> {
        let mut senders = self.of_organisation.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|_, sender| sender.strong_count() > 0);
        let listening: usize =
            senders.values().filter_map(Weak::upgrade).map(|sender| sender.receiver_count()).sum();
        if listening >= LISTENERS_MAX {
            return None;
        }
        if let Some(sender) = senders.get(&organisation_id).and_then(Weak::upgrade) {
            return Some(Listener { changes: sender.subscribe(), _sender: sender });
        }
        let (sender, changes) = broadcast::channel(LAG_MAX);
        let sender = Arc::new(sender);
        senders.insert(organisation_id, Arc::downgrade(&sender));
        tokio::spawn(look(
            Arc::downgrade(&sender),
            organisation_id,
            app.coordinator.clone(),
            app.clock.clone(),
        ));
        Some(Listener { changes, _sender: sender })
    }
}

/// One page.
struct Listener {
    changes: broadcast::Receiver<Changed>,
    _sender: Arc<broadcast::Sender<Changed>>,
}

/// Looks what has changed, as long as somebody listens. Whichever process changed it, the database knows.
async fn look(
    sender: Weak<broadcast::Sender<Changed>>,
    organisation_id: OrganisationId,
    coordinator: Arc<Coordinator>,
    clock: Clock,
) {
    // The first look tells of all: something may have changed between a page's own asking and it.
    let mut before: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(sender) = sender.upgrade() else { return };
        let since = Timestamp(clock().0.saturating_sub(RECENT_MILLISECONDS));
        let now = match pulses(&coordinator, organisation_id, since).await {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(%error, "it cannot be seen what has changed");
                continue;
            }
        };
        let tasks: BTreeSet<TaskId> = before.keys().chain(now.keys()).copied().collect();
        let task_ids: Vec<TaskId> =
            tasks.into_iter().filter(|task| before.get(task) != now.get(task)).collect();
        if !task_ids.is_empty() {
            let _ = sender.send(Changed { task_ids });
        }
        before = now;
    }
}

async fn pulses(
    coordinator: &Coordinator,
    organisation_id: OrganisationId,
    since: Timestamp,
) -> Result<BTreeMap<TaskId, Vec<String>>, StorageError> {
    let mut pulses: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    for pulse in coordinator.storage.database()?.pulses(organisation_id, since).await? {
        let lines = pulses.entry(pulse.task_id).or_default();
        lines.push(pulse.pulse);
        // That an update arrived is told of no task that hides how many did.
        match coordinator.catalog.task(&coordinator.storage, pulse.task_id).await {
            Ok(task) if !task.description.hides_counts() => lines.push(pulse.counts),
            Ok(_) | Err(StorageError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pulses)
}

/// Says which tasks change, while they change: the event `tasks` with `{"task_ids": […]}`, after `hello`. Who has missed
/// some hears `hello` again, and looks at everything.
#[utoipa::path(
    get, path = "/v1/admin/events", tag = "operations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, content_type = "text/event-stream", body = ServerSentEvent, description = "Server-sent events"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn listen(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refused> {
    let joined = app.listeners.join(caller.organisation_id, &app);
    let listener = joined.ok_or_else(|| {
        let detail = format!("{LISTENERS_MAX} pages listen already; ask from time to time instead");
        Refusal::new(ErrorCode::Overloaded, detail).retry_after(30_000)
    })?;
    let gone = await_revocation(app.clone(), headers);
    let start = (listener, app.closing.clone(), true);
    let events = stream::unfold(start, |(mut listener, mut closing, is_first)| async move {
        if is_first {
            return Some((Ok::<Event, Infallible>(hello()), (listener, closing, false)));
        }
        let heard = tokio::select! {
            heard = listener.changes.recv() => heard,
            _ = closing.wait_for(|is_closing| *is_closing) => return None,
        };
        let event = match heard {
            Ok(changed) => Event::default().event("tasks").json_data(&changed).unwrap_or_else(|_| hello()),
            Err(broadcast::error::RecvError::Lagged(_)) => hello(),
            Err(broadcast::error::RecvError::Closed) => return None,
        };
        Some((Ok(event), (listener, closing, false)))
    });
    let events = events.take_until(tokio::time::timeout(ANSWER_MAX, gone));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Resolves when whoever began to listen may do so no more: the session is over, or the key was revoked, perhaps at another
/// process.
async fn await_revocation(app: App, headers: HeaderMap) {
    loop {
        tokio::time::sleep(LOOK_AT_KEY).await;
        match access::caller(&app, &Method::GET, &headers).await {
            Err(refusal) if refusal.code() == ErrorCode::ApiKeyInvalid => return,
            // A database that does not answer ends nothing.
            _ => {}
        }
    }
}

fn hello() -> Event {
    Event::default().event("hello").data("{}")
}
