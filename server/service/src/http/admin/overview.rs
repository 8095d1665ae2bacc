//! An overview of the coordinator's activity for one organisation.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use folkmoot_api::overview::{HourView, OverviewView, PopulationOverview};
use folkmoot_protocol::{PopulationName, Problem};
use folkmoot_rounds::privacy;
use folkmoot_storage::{ClientRepository, HourRecord, PopulationRepository};

use super::access::Caller;
use crate::http::{App, problem::Refused, readiness};

/// The number of hours in the overview.
const HOURS: u64 = 24;

fn hour_view(record: HourRecord, tells_updates: bool) -> HourView {
    let HourRecord { since, committed, abandoned, updates, upload_bytes } = record;
    let told = |number| tells_updates.then_some(number);
    HourView { since, committed, abandoned, updates: told(updates), upload_bytes: told(upload_bytes) }
}

/// Returns an overview: tasks, populations, problems, and the last 24 hours.
#[utoipa::path(
    get, path = "/v1/admin/overview", tag = "operations", security(("api_key" = ["viewer"])),
    responses(
        (status = 200, body = OverviewView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_overview(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<OverviewView>, Refused> {
    let (storage, now) = (&app.coordinator.storage, (app.clock)());
    let (organisation, database) = (caller.organisation_id, storage.database()?);
    let problems = readiness::problems(&app).await;
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
        hours: hours.into_iter().map(|hour| hour_view(hour, tells_updates)).collect(),
    }))
}
