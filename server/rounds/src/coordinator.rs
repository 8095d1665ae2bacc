//! State that handlers and drivers share: storage, the round log, running sums, and the random number generator.

use std::{collections::BTreeSet, sync::Arc};

use folkmoot_crowd::{Crowds, Waiters, pacing::RetryLimits};
use folkmoot_objects::{BlobStore, UpdateStore};
use folkmoot_protocol::{BlobDigest, RoundId};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_storage::{
    AssignmentRepository, AssignmentStatus, RoundRecord, Storage, StorageError, TaskRecord,
};
use folkmoot_strategy::Strategies;
use folkmoot_unmasking::{Committee, CommitteeRounds, Exchange, NoCommittee, Transcripts, UnmaskError};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use tokio::sync::Notify;

use crate::{
    answers::Answers,
    catalog::Catalog,
    charged::Charged,
    downstream::{DownstreamParts, Parts, PartsError, Versions},
    ingest::Ingest,
    last_uses::LastUses,
    noise::{Noises, Sabotage},
    signals::{Processes, Signal},
    sum_shapes::SumShapes,
    tenants::Tenants,
};

/// A coordinator without network sockets. Callers pass it the current time.
pub struct Coordinator {
    /// The database repositories.
    pub storage: Storage,
    /// The blob store for models, weights and plans.
    pub blobs: BlobStore,
    /// A cache of tasks and model versions.
    pub catalog: Catalog,
    /// Model versions compressed for download.
    pub downstream: DownstreamParts,
    /// Uploads in progress, and the running sums to which their values are added.
    pub ingest: Ingest,
    /// The messages of secure aggregation that this process has read.
    pub transcripts: Transcripts,
    /// The way to the members of committees.
    pub committee: Arc<dyn Committee>,
    /// The rounds whose masks a committee sums.
    pub committees: CommitteeRounds,
    /// The sums that clients can send when they evaluate versions.
    pub sum_shapes: SumShapes,
    /// Noise that is drawn ahead of the commit.
    pub noises: Noises,
    /// The tasks with local noise that this process knows were charged to the privacy ledger.
    pub charged: Charged,
    /// The other coordinators that share the database.
    pub processes: Processes,
    /// Wakes the driver loop after a fact was recorded.
    pub facts: Notify,
    /// Wakes uploads that wait for the next round to open.
    pub round_opened: Notify,
    /// Check-ins that wait to be selected.
    pub check_ins: Waiters,
    /// Long polls of training clients. Each waits until the coordinator asks for the client's current update.
    pub listeners: Waiters,
    /// The waiting clients of each population, and the tasks that want them.
    pub crowds: Crowds,
    /// The usage and quotas of organisations.
    pub tenants: Tenants,
    /// The latest uses of API keys and sessions.
    pub last_uses: Arc<LastUses>,
    /// The limits of the retry window for clients that were not selected.
    pub retry_limits: RetryLimits,
    /// The last answers of tasks' own selections.
    pub answers: Answers,
    /// The compiled components of tasks.
    pub strategies: Arc<Strategies>,
    /// The number of days after which entries of audit logs are removed; `None` keeps them.
    pub audit_keep_days: Option<u32>,
    /// The number of a task's newest versions whose weights are kept; `None` keeps all.
    pub keep_versions: Option<u64>,
    /// A deliberate fault, set only in simulations.
    pub sabotage: Option<Sabotage>,
    chance: std::sync::Mutex<ChaCha20Rng>,
}

impl Coordinator {
    /// Assembles a coordinator from its parts.
    pub fn new(storage: impl Into<Storage>, blobs: BlobStore, log: RoundLog, chance: ChaCha20Rng) -> Self {
        let storage = storage.into();
        Self {
            tenants: Tenants::new(storage.writers()),
            last_uses: Arc::default(),
            storage,
            blobs,
            catalog: Catalog::default(),
            downstream: DownstreamParts::default(),
            ingest: Ingest::new(log),
            transcripts: Transcripts::default(),
            committee: Arc::new(NoCommittee),
            committees: CommitteeRounds::default(),
            sum_shapes: SumShapes::default(),
            noises: Noises::default(),
            charged: Charged::default(),
            processes: Processes::default(),
            facts: Notify::new(),
            round_opened: Notify::new(),
            check_ins: Waiters::default(),
            listeners: Waiters::default(),
            crowds: Crowds::default(),
            retry_limits: RetryLimits::default(),
            answers: Answers::default(),
            strategies: Strategies::of_process(),
            audit_keep_days: None,
            keep_versions: None,
            sabotage: None,
            chance: std::sync::Mutex::new(chance),
        }
    }

    /// Stores updates in `store`, which other coordinators share.
    #[must_use]
    pub fn with_update_store(mut self, store: UpdateStore) -> Self {
        self.ingest = self.ingest.with_store(store);
        self
    }

    /// Removes entries of audit logs after this number of days; `None` keeps them.
    #[must_use]
    pub fn with_audit_retention(self, audit_keep_days: Option<u32>) -> Self {
        Self { audit_keep_days, ..self }
    }

    /// Keeps the weights of this number of newest versions of each task, at least 1; `None` keeps all. See
    /// [`crate::collection::drop_old_versions`].
    #[must_use]
    pub fn with_version_retention(self, keep_versions: Option<u64>) -> Self {
        Self { keep_versions, ..self }
    }

    /// Reaches the members of committees in this way.
    #[must_use]
    pub fn with_committee(self, committee: Arc<dyn Committee>) -> Self {
        Self { committee, ..self }
    }

    /// Sets a deliberate privacy fault, so that a simulation can test whether an audit detects it.
    #[must_use]
    pub fn sabotaged(mut self, sabotage: Option<Sabotage>) -> Self {
        self.sabotage = sabotage;
        self.noises = Noises::sabotaged(sabotage);
        self
    }

    /// Wakes everybody who waits for this signal, here and in the other coordinators.
    pub fn signal(&self, signal: Signal) {
        self.receive(&signal);
        self.processes.relay(signal);
    }

    /// Wakes everybody who waits for this signal in this process.
    pub fn receive(&self, signal: &Signal) {
        match signal {
            Signal::Fact => self.facts.notify_one(),
            Signal::Assigned(clients) => self.check_ins.wake(clients.iter().copied()),
            Signal::Asked(clients) => self.listeners.wake(clients.iter().copied()),
            Signal::Opened => self.round_opened.notify_waiters(),
            Signal::Demand(demand) => self.crowds.hear(demand.clone()),
            Signal::Ended(round) => {
                self.committees.forget(*round);
                if let Err(error) = self.ingest.forget_copies(*round) {
                    tracing::warn!(%error, %round, "the log of a round could not be removed; the next clean-up tries again");
                }
            }
        }
    }

    /// Wakes the polls of the clients that take part in a round.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn wake_members(&self, record: &RoundRecord) -> Result<(), StorageError> {
        let assignments = self.storage.assignments(record.round.id).await?;
        let taking_part =
            assignments.iter().filter(|one| !matches!(one.status, AssignmentStatus::Dropped { .. }));
        self.signal(Signal::Asked(taking_part.map(|one| one.client_id).collect()));
        Ok(())
    }

    /// Returns the secure aggregation of a round.
    ///
    /// # Errors
    /// Fails if the storage fails, or the task does not use secure aggregation.
    pub async fn exchange<'a>(
        &'a self,
        task: &TaskRecord,
        record: &'a RoundRecord,
    ) -> Result<Exchange<'a>, UnmaskError> {
        let version = self.catalog.version(&self.storage, task.id, record.round.base_version).await?;
        Exchange::new(&self.storage, &self.transcripts, task, record, version.weights)
    }

    /// Draws `N` random bytes.
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.with_chance(|rng| rng.fill_bytes(&mut bytes));
        bytes
    }

    /// Calls `draw` with the shared random number generator.
    pub fn with_chance<T>(&self, draw: impl FnOnce(&mut ChaCha20Rng) -> T) -> T {
        let mut rng = self.chance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        draw(&mut rng)
    }

    /// Returns the parts in which clients download a version; see [`DownstreamParts::of`].
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn parts_of(&self, task: &TaskRecord, number: u64) -> Result<Parts, PartsError> {
        let versions = Versions { catalog: &self.catalog, storage: &self.storage, blobs: &self.blobs };
        self.downstream.of(versions, task, number).await
    }

    /// Stores a part of a version again that was deleted; see [`DownstreamParts::again`].
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn make_part_again(
        &self,
        task: &TaskRecord,
        number: u64,
        digest: BlobDigest,
    ) -> Result<(), PartsError> {
        let versions = Versions { catalog: &self.catalog, storage: &self.storage, blobs: &self.blobs };
        self.downstream.again(versions, task, number, digest).await
    }

    /// Deletes update logs that are no longer needed: the logs of rounds that have ended and of assignments that were
    /// dropped.
    ///
    /// A round with a running sum keeps all its logs. When the round closes, the values of dropped updates are read
    /// from their logs and subtracted from the sum.
    ///
    /// # Errors
    /// Fails if the storage or the round log fails. The next call deletes the rest.
    pub async fn forget_unneeded_logs(&self) -> Result<(), ForgetError> {
        // List the logs first, so that logs created during this call are kept.
        let log = self.ingest.log();
        let mut found = Vec::new();
        for round in log.rounds()? {
            found.push((round, log.segments(round)?));
        }
        let stored = match self.ingest.store() {
            Some(store) => store.rounds().await.unwrap_or_else(|error| {
                // The logs on this disk can be deleted all the same.
                tracing::warn!(%error, "the stored updates cannot be listed; the next clean-up tries again");
                Vec::new()
            }),
            None => Vec::new(),
        };
        let needed = self.storage.needed_logs().await?;
        let rounds: BTreeSet<RoundId> = needed.iter().map(|(round, _)| *round).collect();
        for (round, segments) in found {
            if !rounds.contains(&round) {
                self.ingest.forget_round(round)?;
                continue;
            }
            if self.ingest.is_summing(round) {
                continue;
            }
            for assignment in segments.into_iter().filter(|one| !needed.contains(&(round, *one))) {
                self.ingest.forget_assignment(round, assignment)?;
            }
        }
        self.ingest.forget_places(|_, round| !rounds.contains(&round));
        for round in stored.into_iter().filter(|round| !rounds.contains(round)) {
            self.ingest.forget_stored(round);
        }
        Ok(())
    }
}

/// The error when logs cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
}
