//! The state of the process, and its recent log.

use axum::{Extension, Json, extract::State};
use folkmoot_api::system::{ChannelView, LeaseView, SystemView};
use folkmoot_notification::ChannelSummary;
use folkmoot_protocol::Problem;
use folkmoot_telemetry::recent_lines;

use super::access::Caller;
use crate::http::{App, problem::Refused, readiness};

/// The explanation that replaces the log and the leases.
const WHY: &str = "Several organisations share this coordinator, and its log and leases name the tasks and clients of all of \
                   them. Whoever runs the coordinator reads the log on its machine.";

/// Returns the state of the process, with its recent log unless several organisations share the coordinator.
#[utoipa::path(
    get, path = "/v1/admin/system", tag = "operations", security(("api_key" = ["operator"])),
    responses(
        (status = 200, body = SystemView),
        (status = "default", body = Problem, content_type = "application/problem+json", description = "The error"),
    )
)]
pub async fn get_system(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<SystemView>, Refused> {
    let database = app.coordinator.storage.database()?;
    let (problems, now) = (readiness::problems(&app).await, (app.clock)());
    let organisations = database.organisations().await?;
    let is_shared = organisations.iter().filter(|one| one.closed_at.is_none()).count() > 1;
    let leases = if is_shared { Vec::new() } else { database.leases().await? };
    let lease = |lease: folkmoot_storage::LeaseRecord| LeaseView {
        name: lease.name,
        holder: lease.holder,
        held_until: lease.held_until,
    };
    let own = organisations.iter().find(|one| one.id == caller.organisation_id).map(|one| one.name.clone());
    let channels = app.notifications.channels().into_iter();
    let notifications =
        channels.filter(|channel| own.as_ref() == Some(&channel.organisation)).map(channel_view).collect();
    Ok(Json(SystemView {
        version: env!("CARGO_PKG_VERSION").into(),
        started_at: app.started_at,
        database: database.kind().into(),
        is_ready: problems.is_empty(),
        problems,
        memory_bytes: memory_bytes(),
        notifications,
        leases: leases.into_iter().filter(|lease| lease.held_until > now).map(lease).collect(),
        log: if is_shared { Vec::new() } else { recent_lines() },
        withheld: is_shared.then(|| WHY.to_owned()),
    }))
}

fn channel_view(channel: ChannelSummary) -> ChannelView {
    ChannelView {
        name: channel.name,
        kind: channel.kind.into(),
        delivered_at: channel.state.delivered_at,
        error: channel.state.error,
        waiting: channel.state.waiting,
    }
}

/// Reads the process's resident memory on systems with Linux's `/proc`.
fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
