//! What an organisation's coordinator is doing, at a glance.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use folkmoot_protocol::{PopulationName, Problem, Timestamp};
use folkmoot_storage::{ClientRepository, HourRecord, PopulationRepository};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{access::Caller, system};
use crate::{http::App, privacy, refusal::Refusal};

/// So many hours are shown.
const HOURS: u64 = 24;

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// Says that it can do its work.
    pub is_ready: bool,
    /// What keeps it from that, in sentences.
    pub problems: Vec<String>,
    /// How many tasks there are in each state.
    pub tasks: BTreeMap<String, u64>,
    /// The populations, by name.
    pub populations: Vec<PopulationOverview>,
    /// The last 24 hours, oldest first; the last of them is under way.
    pub hours: Vec<HourView>,
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulationOverview {
    /// The population.
    pub name: PopulationName,
    /// How many clients are enrolled; revoked ones do not count.
    pub enrolled: u64,
    /// How many of them wait for a round just now; hidden while a task's `privacy` claims sampling.
    pub waiting: Option<u64>,
    /// How many have an assignment under way; hidden likewise.
    pub training: Option<u64>,
    /// How many active tasks they have.
    pub active_tasks: u64,
}

/// What happened in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HourView {
    /// When it began.
    pub since: Timestamp,
    /// Rounds that made a version.
    pub committed: u64,
    /// Rounds that were opened in it and came to nothing.
    pub abandoned: u64,
    /// Updates that were accepted; hidden where the `privacy` of a task claims or has claimed sampling.
    pub updates: Option<u64>,
    /// The bytes of those whose tasks promise no privacy; hidden likewise.
    pub upload_bytes: Option<u64>,
}

impl HourView {
    fn of(record: HourRecord, tells_updates: bool) -> Self {
        let HourRecord { since, committed, abandoned, updates, upload_bytes } = record;
        let told = |number| tells_updates.then_some(number);
        Self { since, committed, abandoned, updates: told(updates), upload_bytes: told(upload_bytes) }
    }
}

/// Shows what is going on.
#[utoipa::path(
    get, path = "/v1/admin/overview", tag = "operations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = OverviewView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn get_overview(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<OverviewView>, Refusal> {
    let (storage, now) = (&app.coordinator.storage, (app.clock)());
    let (organisation, database) = (caller.organisation_id, storage.database()?);
    let problems = system::problems(&app).await;
    let waiting = database.waiting_counts(organisation, now).await?;
    let training = database.training_counts(organisation).await?;
    let active_tasks = database.active_task_counts(organisation).await?;
    let count_in = |counts: &BTreeMap<PopulationName, u64>, name: &PopulationName| {
        counts.get(name).copied().unwrap_or(0)
    };
    let sampled = privacy::sampled_now(&app.coordinator, organisation).await?;
    let mut tells_updates = sampled.is_empty();
    let mut populations = Vec::new();
    for record in storage.populations(organisation).await? {
        let told = |count| (!sampled.contains(&record.name)).then_some(count);
        tells_updates &= !privacy::was_sampled(&app.coordinator, organisation, &record.name).await?;
        populations.push(PopulationOverview {
            enrolled: storage.client_count(organisation, &record.name).await?,
            waiting: told(count_in(&waiting, &record.name)),
            training: told(count_in(&training, &record.name)),
            active_tasks: count_in(&active_tasks, &record.name),
            name: record.name,
        });
    }
    let hours = database.hours(organisation, now, HOURS).await?;
    Ok(Json(OverviewView {
        version: env!("CARGO_PKG_VERSION").into(),
        started_at: app.started_at,
        is_ready: problems.is_empty(),
        problems,
        tasks: database.task_counts(organisation).await?,
        populations,
        hours: hours.into_iter().map(|hour| HourView::of(hour, tells_updates)).collect(),
    }))
}
