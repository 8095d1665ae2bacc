//! Watches tasks, and sends notices to people: a task was paused, has finished or stands still, or a privacy budget
//! is nearly spent.
//!
//! The database records the notices that were delivered. Each pass compares them with the tasks, and delivers the
//! difference. So a notice outlives crashes, and any process may deliver it; a lease lets only one of them do it at a
//! time.

mod budget;
mod stall;
mod state;

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
use folkmoot_storage::{
    LeaseRepository, ModelVersionRepository, SqlStorage, StorageError, TaskRecord, WatchedTask,
};

use self::state::News;

/// The interval at which notices about changed states are delivered.
const INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which active tasks are looked at, in milliseconds.
const LOOK_MILLISECONDS: u64 = 60_000;
/// The number of changes in a page.
const PAGE: u32 = 500;
/// The lease of the process that delivers.
const LEASE: &str = "notices";
/// The duration of the lease, in milliseconds: longer than three looks, so that a notice is tried by one process.
const LEASE_MILLISECONDS: u64 = 200_000;
/// The lease is renewed when this many milliseconds of it are left. An attempt takes at most half a minute.
const RENEW_MILLISECONDS: u64 = 100_000;

/// A notice, and what to record when it is delivered.
struct Occasion {
    notice: Notice,
    told: Told,
}

/// The record of a notice that was delivered.
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
    clock: Clock,
    deliveries: Deliveries,
    /// The version of each private task whose budget was looked at last.
    looked_at: BTreeMap<TaskId, u64>,
    /// The ids of the notices about states that were not delivered yet.
    untold: BTreeSet<String>,
    /// The notices of the last look that were not delivered.
    looked: Vec<Occasion>,
    last_look: Option<Timestamp>,
    /// The end of this process's lease.
    held_until: Timestamp,
}

impl Watch {
    /// Creates a watch of the process `holder`.
    pub fn new(coordinator: Arc<Coordinator>, holder: String, clock: Clock, deliveries: Deliveries) -> Self {
        Self {
            coordinator,
            holder,
            clock,
            deliveries,
            looked_at: BTreeMap::new(),
            untold: BTreeSet::new(),
            looked: Vec::new(),
            last_look: None,
            held_until: Timestamp(0),
        }
    }

    /// Watches until `closed`, then gives the lease back.
    ///
    /// # Errors
    /// Never; it has the same type as the coordinator's other background tasks.
    pub async fn run(mut self, closed: impl Future<Output = ()>) -> Result<(), ServeError> {
        let mut closed = pin!(closed);
        // A shutdown does not wait for a mail server: the next start delivers again.
        tokio::select! {
            () = self.watch() => {}
            () = &mut closed => {}
        }
        if self.held_until.0 > 0
            && let Err(error) = self.coordinator.storage.release_lease(LEASE, &self.holder).await
        {
            tracing::debug!(%error, "the lease of the notices expires by itself");
        }
        Ok(())
    }

    async fn watch(&mut self) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.warn_of_strangers().await;
        loop {
            ticks.tick().await;
            if let Err(error) = self.pass().await {
                tracing::warn!(%error, "could not look for notices; the next attempt follows soon");
            }
        }
    }

    /// Warns of channels of organisations that do not exist: nobody would get their notices.
    async fn warn_of_strangers(&self) {
        let Ok(database) = self.coordinator.storage.database() else { return };
        let Ok(organisations) = database.organisations().await else { return };
        let is_known = |name: &str| organisations.iter().any(|one| one.name == name);
        for channel in
            self.deliveries.channels().all.iter().filter(|channel| !is_known(&channel.organisation))
        {
            let (name, organisation) = (&channel.name, &channel.organisation);
            tracing::warn!(
                channel = name,
                organisation,
                "a channel for notices is of an organisation that does not exist (yet)"
            );
        }
    }

    /// Delivers the notices that were not delivered yet.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn pass(&mut self) -> Result<(), StorageError> {
        let coordinator = self.coordinator.clone();
        let database = coordinator.storage.database()?;
        let changes = self.changes(database).await?;
        self.deliver(database, changes).await?;
        self.look(database).await?;
        let (untold, looked) = (std::mem::take(&mut self.untold), std::mem::take(&mut self.looked));
        let is_current = |id: &str| untold.contains(id) || looked.iter().any(|one| one.notice.id == id);
        self.deliveries.forget_others(is_current);
        self.looked = self.deliver(database, looked).await?;
        Ok(())
    }

    /// Takes or renews the lease. Returns whether this process has it.
    async fn has_lease(&mut self) -> Result<bool, StorageError> {
        let now = (self.clock)();
        let is_fresh = self.held_until.0 > now.0.saturating_add(RENEW_MILLISECONDS);
        let is_plausible = self.held_until.0 <= now.0.saturating_add(LEASE_MILLISECONDS);
        if is_fresh && is_plausible {
            return Ok(true);
        }
        let until = Timestamp(now.0.saturating_add(LEASE_MILLISECONDS));
        let is_taken = self.coordinator.storage.acquire_lease(LEASE, &self.holder, now, until).await?;
        self.held_until = if is_taken { until } else { Timestamp(0) };
        Ok(is_taken)
    }

    /// Delivers notices whose channels do not pause, those with the fewest attempts first. Returns the others.
    async fn deliver(
        &mut self,
        database: &SqlStorage,
        mut occasions: Vec<Occasion>,
    ) -> Result<Vec<Occasion>, StorageError> {
        let mut rest = Vec::new();
        occasions.sort_by_key(|one| self.deliveries.attempts(&one.notice.id));
        for occasion in occasions {
            let is_due = self.deliveries.is_due(&occasion.notice.id, (self.clock)());
            if !is_due || !self.has_lease().await? {
                rest.push(occasion);
                continue;
            }
            match self.deliveries.deliver(&occasion.notice, (self.clock)()).await {
                Outcome::Settled => record(database, occasion.told).await?,
                Outcome::Waiting => rest.push(occasion),
            }
        }
        Ok(rest)
    }

    /// Returns the changes of states that are worth a notice now, and records that the others are not.
    async fn changes(&mut self, database: &SqlStorage) -> Result<Vec<Occasion>, StorageError> {
        let mut occasions = Vec::new();
        let mut after = None;
        loop {
            let tasks = database.untold_tasks(PAGE, after).await?;
            after = tasks.last().map(|task| task.id);
            if after.is_none() || !self.has_lease().await? {
                return Ok(occasions);
            }
            let now = (self.clock)();
            let writer = Writer::of(self.deliveries.channels(), database, now).await?;
            for task in tasks {
                let told = Told::State(task.id, task.revision);
                let Some(news) = News::of(&writer, &task) else {
                    record(database, told).await?;
                    continue;
                };
                let id = notice_id(news.event(), &task, task.revision);
                let is_due = self.deliveries.is_due(&id, now);
                self.untold.insert(id);
                if is_due {
                    let notice = news.notice(&self.coordinator.storage, &writer, &task).await?;
                    occasions.push(Occasion { notice, told });
                }
            }
        }
    }

    /// Looks every minute for active tasks that stand still or have nearly spent their budget. Skips a task that cannot
    /// be read.
    async fn look(&mut self, database: &SqlStorage) -> Result<(), StorageError> {
        let now = (self.clock)();
        let is_early = self.last_look.is_some_and(|last| now.0.wrapping_sub(last.0) < LOOK_MILLISECONDS);
        if is_early || self.deliveries.channels().all.is_empty() || !self.has_lease().await? {
            return Ok(());
        }
        self.last_look = Some(now);
        let watched = database.watched_tasks().await?;
        let active: BTreeSet<TaskId> = watched.iter().map(|watched| watched.task.id).collect();
        self.looked_at.retain(|id, _| active.contains(id));
        let writer = Writer::of(self.deliveries.channels(), database, now).await?;
        self.looked.clear();
        for watched in &watched {
            match look_at(&self.coordinator, &writer, watched, &mut self.looked_at).await {
                Ok(occasions) => self.looked.extend(occasions),
                Err(error) => {
                    tracing::warn!(task = %watched.task.id, %error, "could not look whether a task needs a notice");
                }
            }
        }
        Ok(())
    }
}

async fn look_at(
    coordinator: &Coordinator,
    writer: &Writer<'_>,
    watched: &WatchedTask,
    looked_at: &mut BTreeMap<TaskId, u64>,
) -> Result<Vec<Occasion>, StorageError> {
    let latest = coordinator.storage.latest_model_version(watched.task.id).await?;
    let version = latest.map_or(0, |version| version.number);
    let stall = stall::occasion(coordinator, writer, watched, version).await?;
    let budget = budget::occasion(coordinator, writer, watched, version, looked_at).await?;
    Ok(stall.into_iter().chain(budget).collect())
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

fn notice_id(event: Event, task: &TaskRecord, number: u64) -> String {
    format!("{}-{}-{number}", event.name(), task.id)
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

    /// Returns whether a channel wants notices about this event of a task.
    fn wants(&self, task: &TaskRecord, event: Event) -> bool {
        self.organisations.get(&task.organisation_id).is_some_and(|name| self.channels.want(name, event))
    }

    /// Writes a notice about a task. `number` distinguishes events of the same kind. Call it only for an event that a
    /// channel wants.
    fn notice(&self, task: &TaskRecord, event: Event, number: u64, message: Message) -> Notice {
        Notice {
            id: notice_id(event, task, number),
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
