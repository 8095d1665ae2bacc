use std::{
    collections::{BTreeSet, HashMap},
    future::Future,
    sync::Arc,
    time::Duration,
};

use folkmoot_protocol::{TaskId, Timestamp};
use folkmoot_storage::{CheckInRepository, LeaseRepository, StorageError, TaskRepository};

use super::{DriveError, DriverHealth, drive_task};
use crate::{clock::Clock, coordinator::Coordinator, signals::Signal};

/// The maximum number of steps of one task before the next task gets its turn.
const STEPS_IN_A_TURN: usize = 8;
/// The delay after a fact, so that one pass handles all facts that arrive meanwhile.
const GATHER: Duration = Duration::from_millis(5);
/// The duration of a lease, in milliseconds.
const LEASE_MILLISECONDS: u64 = 10_000;
/// The time between two clean-ups, in milliseconds.
const CLEAN_UP_MILLISECONDS: u64 = 60_000;
/// The time between two messages to other processes about the demand for clients, in milliseconds.
const TELL_MILLISECONDS: u64 = 1_000;

/// The configuration of the driver loop.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// The name under which this process holds leases. It is the same after a restart, so that a restarted coordinator
    /// continues without waiting for its old leases to expire.
    pub holder: String,
    /// The interval at which deadlines are checked if no fact arrives.
    pub tick: Duration,
}

/// Advances every task that this process can lease, until `shutdown` resolves. A step in progress is finished first.
pub async fn run(
    coordinator: Arc<Coordinator>,
    clock: Clock,
    config: DriverConfig,
    health: Arc<DriverHealth>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut leases = HashMap::new();
    let (mut cleaned_at, mut told_at) = (Timestamp(0), Timestamp(0));
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            // Facts arrive in bursts: one pass handles all that arrive within a few milliseconds.
            () = coordinator.facts.notified() => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(config.tick) => {}
        }
        if let Err(error) = turn(&coordinator, &clock, &config, &health, &mut leases).await {
            tracing::warn!(%error, "the drivers could not list tasks; they will try again");
        }
        health.turned();
        let now = clock();
        if coordinator.processes.count() > 1 && now.milliseconds_since(told_at) > TELL_MILLISECONDS {
            told_at = now;
            for demand in coordinator.crowds.demands(now) {
                coordinator.processes.relay(Signal::Demand(demand));
            }
        }
        if now.milliseconds_since(cleaned_at) > CLEAN_UP_MILLISECONDS {
            cleaned_at = now;
            // A separate task: an object storage that does not answer must not stop the drivers.
            let shared = coordinator.clone();
            drop(tokio::spawn(async move { clean_up(&shared, now).await }));
        }
    }
    for task in leases.into_keys() {
        if let Err(error) = coordinator.storage.release_lease(&lease_name(task), &config.holder).await {
            tracing::warn!(%error, %task, "could not release a lease; it will expire by itself");
        }
    }
}

async fn clean_up(coordinator: &Coordinator, now: Timestamp) {
    if let Err(error) = coordinator.storage.delete_expired_check_ins(now).await {
        tracing::warn!(%error, "could not delete expired check-ins; the next clean-up tries again");
    }
    // Rounds that another coordinator has ended.
    if coordinator.ingest.store().is_some()
        && let Err(error) = coordinator.forget_unneeded_logs().await
    {
        tracing::warn!(%error, "could not delete the updates of rounds that have ended; the next clean-up tries again");
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
    let mut ours = BTreeSet::new();
    for task in &tasks {
        if is_ours(coordinator, config, *task).await {
            ours.insert(*task);
        }
    }
    coordinator.crowds.retain(&ours);
    health.retain(|task| tasks.contains(task));
    for task in tasks {
        if health.is_left_alone(task, clock()) {
            continue;
        }
        if !ours.contains(&task) {
            if leases.remove(&task).is_some() {
                coordinator.storage.release_lease(&lease_name(task), &config.holder).await?;
            }
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
                // A fact was recorded between the step's read and its write. The next step reads the new fact.
                Err(DriveError::Storage(StorageError::RevisionConflict(what))) => {
                    tracing::debug!(%task, what, "a step wrote nothing, because the data changed after it was read; the next step reads the new data");
                }
                Err(error) => {
                    tracing::error!(%error, %task, "a driver step failed; it will be tried again");
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Returns whether this coordinator, rather than another one, should drive the task.
async fn is_ours(coordinator: &Coordinator, config: &DriverConfig, task: TaskId) -> bool {
    if coordinator.processes.count() == 1 {
        return true;
    }
    // If the task cannot be read, its step reports that.
    let Ok(task) = coordinator.catalog.task(&coordinator.storage, task).await else { return true };
    coordinator.processes.drives(&config.holder, task.organisation_id, &task.description.population)
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
