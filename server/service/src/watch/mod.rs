//! Watches tasks, and tells people what needs them: a task that was paused, has finished or stands still, and a privacy budget
//! that is nearly spent.
//!
//! Nothing is remembered but what people were told, in the database. Each pass compares that with the tasks, and delivers
//! the difference. So a notice outlives crashes, and of several processes any may deliver it; a lease lets only one of them
//! do it at a time.

mod budget;
mod stall;
mod state;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use folkmoot_edge::ServeError;
use folkmoot_notification::{Channels, Deliveries, Event, Notice, Outcome, TaskName};
use folkmoot_protocol::{OrganisationId, TaskId, Timestamp};
use folkmoot_rounds::{clock::Clock, coordinator::Coordinator};
use folkmoot_storage::{LeaseRepository, SqlStorage, StorageError, TaskRecord};

/// The interval at which changes of states are told.
const INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which active tasks are looked at, in milliseconds.
const LOOK_MILLISECONDS: u64 = 60_000;
/// The largest number of changes in a pass. The others follow in the next one.
const CHANGES_MAX: u32 = 1000;
/// The lease of the process that delivers.
const LEASE: &str = "notices";
/// The duration of the lease, in milliseconds. It is renewed with every notice.
const LEASE_MILLISECONDS: u64 = 60_000;

/// A notice, and what to record when it is delivered.
struct Occasion {
    notice: Notice,
    told: Told,
}

/// The news about a task.
#[derive(Clone, Copy)]
enum Told {
    State(TaskId, u64),
    Stall(TaskId, u64),
    Budget(TaskId),
}

/// Watches tasks and delivers notices.
pub struct Watch {
    coordinator: Arc<Coordinator>,
    holder: String,
    deliveries: Deliveries,
    /// The version of each private task whose budget was looked at last.
    looked_at: BTreeMap<TaskId, u64>,
    next_look: Timestamp,
}

impl Watch {
    /// Creates a watch of the process `holder`.
    pub fn new(coordinator: Arc<Coordinator>, holder: String, deliveries: Deliveries) -> Self {
        let (looked_at, next_look) = (BTreeMap::new(), Timestamp(0));
        Self { coordinator, holder, deliveries, looked_at, next_look }
    }

    /// Watches until `closed`.
    ///
    /// # Errors
    /// Never; the type is that of the coordinator's other tasks.
    pub async fn run(mut self, clock: Clock, closed: impl Future<Output = ()>) -> Result<(), ServeError> {
        let mut closed = pin!(closed);
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = &mut closed => return Ok(()),
            }
            // A shutdown does not wait for a mail server: the next start delivers again.
            tokio::select! {
                passed = self.pass(clock()) => if let Err(error) = passed {
                    tracing::warn!(%error, "could not look for notices; the next attempt follows at once");
                },
                () = &mut closed => return Ok(()),
            }
        }
    }

    /// Delivers what people were not told yet.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn pass(&mut self, now: Timestamp) -> Result<(), StorageError> {
        let coordinator = self.coordinator.clone();
        let database = coordinator.storage.database()?;
        let mut occasions = self.changes(database, now).await?;
        if now >= self.next_look && !self.deliveries.channels().all.is_empty() {
            occasions.extend(self.look(database, now).await?);
            self.next_look = Timestamp(now.0.saturating_add(LOOK_MILLISECONDS));
            let current: BTreeSet<&str> = occasions.iter().map(|one| one.notice.id.as_str()).collect();
            self.deliveries.forget_others(&current);
        }
        for Occasion { notice, told } in occasions {
            let until = Timestamp(now.0.saturating_add(LEASE_MILLISECONDS));
            if !coordinator.storage.acquire_lease(LEASE, &self.holder, now, until).await? {
                break;
            }
            if self.deliveries.deliver(&notice, now).await == Outcome::Settled {
                record(database, told).await?;
            }
        }
        Ok(())
    }

    /// Returns the changes of states that are worth a notice, and records that the others are not.
    async fn changes(&self, database: &SqlStorage, now: Timestamp) -> Result<Vec<Occasion>, StorageError> {
        let mut occasions = Vec::new();
        let tasks = database.untold_tasks(CHANGES_MAX).await?;
        if tasks.is_empty() {
            return Ok(occasions);
        }
        let writer = Writer::of(self.deliveries.channels(), database, now).await?;
        for task in tasks {
            let told = Told::State(task.id, task.revision);
            match state::notice(&self.coordinator.storage, &writer, &task).await? {
                Some(notice) => occasions.push(Occasion { notice, told }),
                None => record(database, told).await?,
            }
        }
        Ok(occasions)
    }

    /// Looks at the active tasks: which stand still, and which have nearly spent their budget.
    async fn look(&mut self, database: &SqlStorage, now: Timestamp) -> Result<Vec<Occasion>, StorageError> {
        let mut occasions = Vec::new();
        let watched = database.watched_tasks().await?;
        if watched.is_empty() {
            return Ok(occasions);
        }
        self.looked_at.retain(|id, _| watched.iter().any(|watched| watched.task.id == *id));
        let writer = Writer::of(self.deliveries.channels(), database, now).await?;
        for watched in watched {
            if writer.wants(&watched.task, Event::TaskStalled) {
                occasions.extend(stall::occasion(&self.coordinator, database, &writer, &watched).await?);
            }
            if writer.wants(&watched.task, Event::BudgetNearlySpent) {
                let looked_at = &mut self.looked_at;
                occasions.extend(
                    budget::occasion(&self.coordinator, database, &writer, &watched, looked_at).await?,
                );
            }
        }
        Ok(occasions)
    }
}

async fn record(database: &SqlStorage, told: Told) -> Result<(), StorageError> {
    match told {
        Told::State(id, revision) => database.tell_state(id, revision).await,
        Told::Stall(id, version) => database.tell_stall(id, version).await,
        Told::Budget(id) => database.tell_budget(id, true).await,
    }
}

/// Writes notices about tasks.
struct Writer<'a> {
    channels: &'a Channels,
    organisations: BTreeMap<OrganisationId, String>,
    now: Timestamp,
}

/// The sentences of a notice.
struct Message {
    title: String,
    cause: String,
    remedy: Option<String>,
}

impl<'a> Writer<'a> {
    async fn of(channels: &'a Channels, database: &SqlStorage, now: Timestamp) -> Result<Self, StorageError> {
        let organisations = database.organisations().await?;
        let organisations = organisations.into_iter().map(|one| (one.id, one.name)).collect();
        Ok(Self { channels, organisations, now })
    }

    /// Returns whether somebody wants to be told of this event of a task.
    fn wants(&self, task: &TaskRecord, event: Event) -> bool {
        self.organisations.get(&task.organisation_id).is_some_and(|name| self.channels.want(name, event))
    }

    /// Writes a notice about a task. `occasion` tells apart events of the same kind. Call it only for an event that somebody
    /// wants.
    fn notice(&self, task: &TaskRecord, event: Event, occasion: u64, message: Message) -> Notice {
        Notice {
            id: format!("{}-{}-{occasion}", event.name(), task.id),
            event,
            at: self.now,
            organisation: self.organisations.get(&task.organisation_id).cloned().unwrap_or_default(),
            population: Some(task.description.population.to_string()),
            task: Some(TaskName { id: task.id.to_string(), name: task.description.name.clone() }),
            title: message.title,
            cause: message.cause,
            remedy: message.remedy,
            link: format!("{}/console/tasks/{}", self.channels.url, task.id),
        }
    }
}
