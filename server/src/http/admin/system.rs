//! How the process is, and what it said last.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use folkmoot_protocol::{Problem, Timestamp};
use folkmoot_storage::TaskRepository;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::access::Caller;
use crate::{http::App, refusal::Refusal, telemetry};

/// How the process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemView {
    /// The coordinator's version.
    pub version: String,
    /// When this process started.
    pub started_at: Timestamp,
    /// `sqlite` or `postgresql`.
    pub database: String,
    /// Says that it can do its work.
    pub is_ready: bool,
    /// What keeps it from that, in sentences.
    pub problems: Vec<String>,
    /// The memory that the process has, in bytes, where the system says so.
    pub memory_bytes: Option<u64>,
    /// Who drives which task, and until when.
    pub leases: Vec<LeaseView>,
    /// What this process logged last, newest first; at most 500 lines.
    pub log: Vec<LogLineView>,
}

/// A claim on a task, that only its holder drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// What is claimed.
    pub name: String,
    /// Which process holds it.
    pub holder: String,
    /// Until when, unless it is renewed.
    pub held_until: Timestamp,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLineView {
    /// When.
    pub at: Timestamp,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub level: String,
    /// Which part of the program.
    pub target: String,
    /// What it says.
    pub message: String,
    /// Of what, by name.
    pub fields: BTreeMap<String, String>,
}

/// Shows how the process is.
#[utoipa::path(
    get, path = "/v1/admin/system", tag = "operations", security(("api_key" = ["operator"])),
    responses(
        (status = 200, body = SystemView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "A refusal"),
    )
)]
pub async fn get_system(
    State(app): State<App>,
    Extension(_): Extension<Caller>,
) -> Result<Json<SystemView>, Refusal> {
    let database = app.coordinator.storage.database()?;
    let (problems, now) = (problems(&app).await, (app.clock)());
    let leases = database.leases().await?;
    let lease = |lease: folkmoot_storage::LeaseRecord| LeaseView {
        name: lease.name,
        holder: lease.holder,
        held_until: lease.held_until,
    };
    Ok(Json(SystemView {
        version: env!("CARGO_PKG_VERSION").into(),
        started_at: app.started_at,
        database: database.kind().into(),
        is_ready: problems.is_empty(),
        problems,
        memory_bytes: memory_bytes(),
        leases: leases.into_iter().filter(|lease| lease.held_until > now).map(lease).collect(),
        log: telemetry::recent_lines(),
    }))
}

/// Lists what keeps the coordinator from its work.
pub async fn problems(app: &App) -> Vec<String> {
    let mut problems = Vec::new();
    if *app.closing.borrow() {
        problems.push("the coordinator is going down".to_owned());
    }
    if let Err(error) = app.coordinator.storage.tasks_to_drive().await {
        problems.push(format!("the database does not answer: {error}"));
    }
    problems
}

/// Reads the process's resident memory, where the system has Linux's `/proc`.
fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
