//! Live changes for web pages, as server-sent events.

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
use crate::{
    http::{App, problem::Refused},
    stage::Stage,
};

/// The maximum number of listening pages per process. Further pages must poll.
const LISTENERS_MAX: usize = 256;
/// The interval between look-ups of changes while a page is listening.
const LOOK: Duration = Duration::from_millis(500);
/// The interval between keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The interval between checks of a listener's session and key.
const LOOK_AT_KEY: Duration = Duration::from_secs(2);
/// The maximum duration of a response. The page then reconnects.
const ANSWER_MAX: Duration = Duration::from_secs(900);
/// A look-up includes a task that has ended if its newest version is younger than this, in milliseconds. A round may
/// begin and end between two look-ups.
const RECENT_MILLISECONDS: u64 = 60_000;
/// The maximum number of changes that wait for a slow page. A page that misses changes gets an event to reload
/// everything.
const LAG_MAX: usize = 64;

/// The tasks that changed between two look-ups.
#[derive(Clone, Debug, Serialize)]
struct Changed {
    task_ids: Vec<TaskId>,
}

/// The description of an event in the OpenAPI document.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only the OpenAPI document uses this type")]
struct ServerSentEvent {
    /// `hello` or `tasks`.
    event: String,
    /// JSON: an empty object for `hello`, an object with the field `task_ids` for `tasks`.
    data: String,
}

/// The listening pages by organisation. All pages of an organisation share one database query.
#[derive(Default)]
pub struct Listeners {
    of_organisation: Mutex<HashMap<OrganisationId, Weak<broadcast::Sender<Changed>>>>,
}

impl Listeners {
    /// Adds a listener. Returns `None` if there are already [`LISTENERS_MAX`] listeners. The loop that looks up changes
    /// runs as long as a listener holds its sender.
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

/// One listening page.
struct Listener {
    changes: broadcast::Receiver<Changed>,
    _sender: Arc<broadcast::Sender<Changed>>,
}

/// Looks up changes as long as a page is listening. The changes are read from the database, so they include changes by
/// other processes.
async fn look(
    sender: Weak<broadcast::Sender<Changed>>,
    organisation_id: OrganisationId,
    coordinator: Arc<Coordinator>,
    clock: Clock,
) {
    // The first event names all tasks, because any of them may have changed since the page loaded its data.
    let mut before: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(sender) = sender.upgrade() else { return };
        let since = Timestamp(clock().0.saturating_sub(RECENT_MILLISECONDS));
        let now = match pulses(&coordinator, organisation_id, since).await {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(%error, "could not look up changes for listening pages; the next look-up tries again");
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
        // For a task that hides its counts, an arriving update is not a visible change.
        match coordinator.catalog.task(&coordinator.storage, pulse.task_id).await {
            Ok(task) if !task.description.hides_counts() => lines.push(pulse.counts),
            Ok(_) | Err(StorageError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pulses)
}

/// Streams the ids of tasks as they change. After `hello`, each event `tasks` carries `{"task_ids": […]}`. A listener
/// that missed events receives another `hello` and should reload everything.
#[utoipa::path(
    get, path = "/v1/admin/events", tag = "operations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, content_type = "text/event-stream", body = ServerSentEvent, description = "Server-sent events"),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn listen(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refused> {
    let joined = app.listeners.join(caller.organisation_id, &app);
    let listener = joined.ok_or_else(|| {
        let detail = format!("too many pages are listening: the limit is {LISTENERS_MAX}; poll instead");
        Refusal::new(ErrorCode::Overloaded, detail).retry_after(30_000)
    })?;
    let gone = await_revocation(app.clone(), headers);
    let start = (listener, app.stage.clone(), true);
    let events = stream::unfold(start, |(mut listener, stage, is_first)| async move {
        if is_first {
            return Some((Ok::<Event, Infallible>(hello()), (listener, stage, false)));
        }
        let heard = tokio::select! {
            heard = listener.changes.recv() => heard,
            () = Stage::Closing.reached(stage.clone()) => return None,
        };
        let event = match heard {
            Ok(changed) => Event::default().event("tasks").json_data(&changed).unwrap_or_else(|_| hello()),
            Err(broadcast::error::RecvError::Lagged(_)) => hello(),
            Err(broadcast::error::RecvError::Closed) => return None,
        };
        Some((Ok(event), (listener, stage, false)))
    });
    let events = events.take_until(tokio::time::timeout(ANSWER_MAX, gone));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Resolves when the listener loses its access: the session has ended, or the key was revoked, possibly by another
/// process.
async fn await_revocation(app: App, headers: HeaderMap) {
    loop {
        tokio::time::sleep(LOOK_AT_KEY).await;
        match access::caller(&app, &Method::GET, &headers).await {
            Err(refusal)
                if matches!(
                    refusal.code(),
                    ErrorCode::ApiKeyInvalid | ErrorCode::IdentityProviderUnavailable
                ) =>
            {
                return;
            }
            // A failed database query does not end the stream.
            _ => {}
        }
    }
}

fn hello() -> Event {
    Event::default().event("hello").data("{}")
}
