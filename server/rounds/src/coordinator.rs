//! What handlers and drivers share: storage, the round log, running sums, and the generator.

use std::collections::BTreeSet;

use folkmoot_coordinator::pacing::RetryLimits;
use folkmoot_protocol::RoundId;
use folkmoot_storage::{
    AssignmentRepository, BlobStore, RoundLog, RoundLogError, Storage, StorageError, TaskRecord,
};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use tokio::sync::Notify;

use crate::{
    catalog::Catalog,
    charged::Charged,
    crowd::Crowds,
    downstream::{DownstreamParts, Parts, PartsError, Versions},
    ingest::Ingest,
    noise::{Noises, Sabotage},
    waiters::Waiters,
};

/// A coordinator: everything but the sockets and the clock.
pub struct Coordinator {
    /// The repositories.
    pub storage: Storage,
    /// Models, weights and plans.
    pub blobs: BlobStore,
    /// Tasks and versions that were read before.
    pub catalog: Catalog,
    /// Versions in few bytes.
    pub downstream: DownstreamParts,
    /// Uploads that are under way, and the sums into which they are folded.
    pub ingest: Ingest,
    /// Noise that is drawn ahead.
    pub noises: Noises,
    /// Tasks whose clients add the noise, and that were charged.
    pub charged: Charged,
    /// Wakes the driver loop when a fact was recorded.
    pub facts: Notify,
    /// Wakes uploads that wait for the next round.
    pub round_opened: Notify,
    /// Check-ins that wait to be drawn.
    pub check_ins: Waiters,
    /// Clients at work that wait to be asked for what they have.
    pub listeners: Waiters,
    /// Who waits, and which tasks want whom.
    pub crowds: Crowds,
    /// When clients that are not drawn may come back.
    pub retry_limits: RetryLimits,
    /// What is broken on purpose, in a simulation; nothing where clients are served.
    pub sabotage: Option<Sabotage>,
    chance: std::sync::Mutex<ChaCha20Rng>,
}

impl Coordinator {
    /// Puts the parts together.
    pub fn new(storage: impl Into<Storage>, blobs: BlobStore, log: RoundLog, chance: ChaCha20Rng) -> Self {
        Self {
            storage: storage.into(),
            blobs,
            catalog: Catalog::default(),
            downstream: DownstreamParts::default(),
            ingest: Ingest::new(log),
            noises: Noises::default(),
            charged: Charged::default(),
            facts: Notify::new(),
            round_opened: Notify::new(),
            check_ins: Waiters::default(),
            listeners: Waiters::default(),
            crowds: Crowds::default(),
            retry_limits: RetryLimits::default(),
            sabotage: None,
            chance: std::sync::Mutex::new(chance),
        }
    }

    /// Breaks a promise on purpose, so that an audit can be shown to find it.
    #[must_use]
    pub fn sabotaged(mut self, sabotage: Option<Sabotage>) -> Self {
        self.sabotage = sabotage;
        self.noises = Noises::sabotaged(sabotage);
        self
    }

    /// Draws `N` random bytes.
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.with_chance(|rng| rng.fill_bytes(&mut bytes));
        bytes
    }

    /// Lends the generator.
    pub fn with_chance<T>(&self, draw: impl FnOnce(&mut ChaCha20Rng) -> T) -> T {
        let mut rng = self.chance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        draw(&mut rng)
    }

    /// Returns the parts in which a version of a task travels: [`DownstreamParts::of`].
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn parts_of(&self, task: &TaskRecord, number: u64) -> Result<Parts, PartsError> {
        let versions = Versions { catalog: &self.catalog, storage: &self.storage, blobs: &self.blobs };
        self.downstream.of(versions, task, number).await
    }

    /// Removes the logs of updates that nobody needs any more: those of rounds that are over, and of assignments
    /// that were dropped. Updates are not kept longer than they are needed.
    ///
    /// A round with a running sum keeps them all: what was folded of a dropped update is taken out when it closes.
    ///
    /// # Errors
    /// If the storage or the round log fails; what is left is found the next time.
    pub async fn forget_unneeded_logs(&self) -> Result<(), ForgetError> {
        // First the logs: what begins meanwhile is not among them.
        let log = self.ingest.log();
        let mut found = Vec::new();
        for round in log.rounds()? {
            found.push((round, log.segments(round)?));
        }
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
        Ok(())
    }
}

/// Logs that could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The round log failed.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
}
