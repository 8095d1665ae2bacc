use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use folkmoot_protocol::{TaskId, Timestamp};
use folkmoot_storage::{CheckInRepository, LeaseRepository, StorageError, TaskRepository};

use super::{DriveError, DriverHealth, drive_task};
use crate::{clock::Clock, coordinator::Coordinator};

/// Steps that one task may make before the others have their turn.
const STEPS_IN_A_TURN: usize = 8;
/// How long facts are gathered before they are looked at.
const GATHER: Duration = Duration::from_millis(5);
/// Milliseconds for which a lease is taken.
const LEASE_MILLISECONDS: u64 = 10_000;
/// Milliseconds between two clean-ups of expired check-ins.
const CLEAN_UP_MILLISECONDS: u64 = 60_000;

/// How the driver loop runs.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// Who holds the leases. It stays the same over restarts, so that a crashed coordinator goes on at once.
    pub holder: String,
    /// How often deadlines are looked at when no fact comes in.
    pub tick: Duration,
}

/// Advances every task that this process can lease, until `shutdown` resolves. A step that has begun is ended.
pub async fn run(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    config: DriverConfig,
    health: Arc<DriverHealth>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut leases = HashMap::new();
    let mut cleaned_at = Timestamp(0);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            // Facts come in crowds: one look serves all that arrive within these few milliseconds.
            () = coordinator.facts.notified() => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(config.tick) => {}
        }
        if let Err(error) = turn(&coordinator, &clock, &config, &health, &mut leases).await {
            tracing::warn!(%error, "the drivers could not look for tasks; they try again");
        }
        health.turned();
        let now = clock();
        if now.milliseconds_since(cleaned_at) > CLEAN_UP_MILLISECONDS {
            cleaned_at = now;
            if let Err(error) = coordinator.storage.delete_expired_check_ins(now).await {
                tracing::warn!(%error, "expired check-ins could not be deleted");
            }
        }
    }
    for task in leases.into_keys() {
        if let Err(error) = coordinator.storage.release_lease(&lease_name(task), &config.holder).await {
            tracing::warn!(%error, %task, "a lease could not be given back; it ends by itself");
        }
    }
}

async fn turn(
    coordinator: &Arc<Coordinator>,
    clock: &Clock,
    config: &DriverConfig,
    health: &DriverHealth,
    leases: &mut HashMap<TaskId, Timestamp>,
) -> Result<(), StorageError> {
    let tasks = coordinator.storage.tasks_to_drive().await?;
    leases.retain(|task, _| tasks.contains(task));
    coordinator.crowds.retain(&tasks.iter().copied().collect());
    health.retain(|task| tasks.contains(task));
    for task in tasks {
        if health.is_left_alone(task, clock()) {
            continue;
        }
        if !hold_lease(coordinator, clock(), config, task, leases).await? {
            continue;
        }
        for _ in 0..STEPS_IN_A_TURN {
            let now = clock();
            let Some(step) = health.guard(task, now, Box::pin(drive_task(coordinator, task, now))).await
            else {
                break;
            };
            match step {
                Ok(true) => {}
                Ok(false) => break,
                // A fact came in between reading and writing: the next step decides with it.
                Err(DriveError::Storage(StorageError::RevisionConflict(what))) => {
                    tracing::debug!(%task, what, "a step was overtaken");
                }
                Err(error) => {
                    tracing::error!(%error, %task, "a step failed; it is tried again");
                    break;
                }
            }
        }
    }
    Ok(())
}

async fn hold_lease(
    coordinator: &Coordinator,
    now: Timestamp,
    config: &DriverConfig,
    task: TaskId,
    leases: &mut HashMap<TaskId, Timestamp>,
) -> Result<bool, StorageError> {
    let is_fresh =
        leases.get(&task).is_some_and(|until| until.milliseconds_since(now) > LEASE_MILLISECONDS / 2);
    if is_fresh {
        return Ok(true);
    }
    let until = now.plus_milliseconds(LEASE_MILLISECONDS);
    let is_held = coordinator.storage.acquire_lease(&lease_name(task), &config.holder, now, until).await?;
    if is_held {
        leases.insert(task, until);
    } else {
        leases.remove(&task);
    }
    Ok(is_held)
}

fn lease_name(task: TaskId) -> String {
    format!("task/{task}")
}
