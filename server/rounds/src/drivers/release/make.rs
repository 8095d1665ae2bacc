//! The first steps of a release: gather the inputs and produce the version.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, finalizer::Commit, sum_metrics};
use folkmoot_coordinator::{invariants, scheduling::Correction};
use folkmoot_protocol::{BlobDigest, ClientId, Timestamp, saturating::to_length, update::UpdateMetrics};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, LedgerRepository, ModelVersionRecord, RoundRecord, StorageError,
    TaskRecord, VersionMaking,
};

use folkmoot_unmasking::{Removal, UnmaskError};

use super::{
    examples::examples,
    noise::{discard_unreleased, private},
    publish::{Candidate, End},
};
use crate::{
    combine::{self, Bases, Making, Masked, PartPlaces},
    components,
    coordinator::Coordinator,
    drivers::{
        DriveError, attenuations::attenuations, evaluate, open, partial_sums, secure, versions::version,
    },
};

/// A closed round and all inputs of its version.
pub struct Prepared {
    record: RoundRecord,
    accepted: Vec<AcceptedUpdate>,
    metrics: UpdateMetrics,
    staleness: Staleness,
    making: Making,
}

impl Prepared {
    /// Reads the accepted updates and the versions from which they started, and removes the leftovers of an earlier
    /// attempt.
    ///
    /// # Errors
    /// Fails if the storage fails, or the accepted updates are not those that the round counted.
    pub async fn of(
        coordinator: &Coordinator,
        task: &TaskRecord,
        mut record: RoundRecord,
    ) -> Result<Self, DriveError> {
        let accepted = coordinator.storage.accepted_updates(record.round.id).await?;
        invariants::the_aggregate_is_of_the_accepted(&record.round, accepted.len() as u64)?;
        let sum = task.description.sums_on_arrival().then(|| {
            let measurement = task.description.aggregator.measurement();
            let parameter_count = to_length(task.schema.parameter_count());
            coordinator.ingest.sum_of(record.round.id, task.description.grid, parameter_count, measurement)
        });
        coordinator.ingest.gather(&accepted, sum).await?;
        let metrics = if task.description.privacy.is_none() {
            sum_metrics(accepted.iter().map(|update| &update.metrics))
        } else {
            record = discard_unreleased(coordinator, task, record).await?;
            // A private task keeps the clients' measurements secret: in the version they would be released without
            // noise.
            UpdateMetrics::default()
        };
        let staleness = Staleness::of(&accepted, record.round.base_version);
        let making = making(coordinator, task, &record, accepted.clone(), staleness.mean).await?;
        Ok(Self { record, accepted, metrics, staleness, making })
    }

    /// Combines the updates on a blocking thread. Except for the noise, the same input gives the same bytes.
    ///
    /// # Errors
    /// Fails if the round log cannot be read, or no noise can be drawn.
    pub async fn make(self, coordinator: &Arc<Coordinator>) -> Result<Made, DriveError> {
        let Self { record, accepted, metrics, staleness, making } = self;
        let shared = coordinator.clone();
        let is_private = making.private.is_some();
        let made = tokio::task::spawn_blocking(move || making.make(&shared.ingest, &shared.noises));
        let version = made.await??;
        let metrics = version.metrics.filter(|_| !is_private).unwrap_or(metrics);
        Ok(Made { record, accepted, metrics, staleness, version })
    }
}

/// A version that was produced but not stored.
pub struct Made {
    record: RoundRecord,
    accepted: Vec<AcceptedUpdate>,
    metrics: UpdateMetrics,
    staleness: Staleness,
    version: combine::Made,
}

impl Made {
    /// Stores the version's blobs. For a private version, the digests are recorded first, so that a later attempt can
    /// delete the blobs of an interrupted attempt.
    ///
    /// # Errors
    /// Fails if the storage or the blob store fails.
    pub async fn keep(
        self,
        coordinator: &Coordinator,
        task: &TaskRecord,
        now: Timestamp,
    ) -> Result<Candidate, DriveError> {
        let Self { record, accepted, metrics, staleness, version: made } = self;
        let number = record.round.base_version + 1;
        let weights_bytes = made.weights.len() as u64;
        let (weights, noise) = (Bytes::from(made.weights), Bytes::from(made.noise_state));
        let state = Bytes::from(made.finalizer_state);
        let stop = open::stop_reason(coordinator, task, 1, now).await?;
        // A task that was cancelled while its last round aggregated stays cancelled. If the last version must still be
        // evaluated, the task ends after the evaluation.
        let ends_now = stop.filter(|_| !evaluate::is_measured_centrally(task, number));
        // The noise state could remove the noise of this version. If this is the last version, no later version needs
        // the state, so it is not stored.
        let is_last = ends_now.is_some() || task.state.is_final();
        let noise = if is_last { Bytes::new() } else { noise };
        if made.clipping_norm.is_some() {
            let blobs = [&weights, &state, &noise].into_iter().filter(|blob| !blob.is_empty());
            let blobs: Vec<BlobDigest> = blobs.map(|blob| BlobDigest::of(blob)).collect();
            coordinator.storage.note_unreleased(&record, &blobs).await?;
        }
        let version = ModelVersionRecord {
            task_id: task.id,
            number,
            round_id: Some(record.round.id),
            weights: coordinator.blobs.put(weights).await?,
            weights_bytes,
            metrics,
            making: VersionMaking {
                finalizer_state: keep(coordinator, state).await?,
                change_norm: made.change_norm,
                mean_staleness: staleness.mean,
                staleness_max: staleness.max,
                clipping_norm: made.clipping_norm,
                scores: made.scores,
                noise_state: keep(coordinator, noise).await?,
                ..VersionMaking::default()
            },
            created_at: now,
            dropped_at: None,
        };
        tracing::debug!(task = %task.id, round = record.round.number, version = number, "version made");
        Ok(Candidate { record, accepted, version, end: End { stop, ends_now } })
    }
}

/// Stores the state of a finalizer or of the noise for the next version. Does nothing if the state is empty.
async fn keep(coordinator: &Coordinator, state: Bytes) -> Result<Option<BlobDigest>, DriveError> {
    if state.is_empty() { Ok(None) } else { Ok(Some(coordinator.blobs.put(state).await?)) }
}

/// Gathers the inputs of the next version.
async fn making(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    accepted: Vec<AcceptedUpdate>,
    mean_staleness: f64,
) -> Result<Making, DriveError> {
    let base_version = record.round.base_version;
    let base = version(coordinator, task, base_version).await?;
    let newest = coordinator.blobs.get(base.weights).await?;
    let policy = task.description.scheduling.policy();
    let correction = policy.staleness().correction;
    let mut bases = Bases { correction, newest: base_version, ..Bases::default() };
    if correction != Correction::None {
        let versions: BTreeSet<u64> = accepted.iter().map(|update| update.base_version).collect();
        for number in versions.into_iter().filter(|number| *number != base_version) {
            bases.weights.insert(
                number,
                coordinator.blobs.get(version(coordinator, task, number).await?.weights).await?,
            );
        }
        bases.weights.insert(base_version, newest.clone());
    }
    let finalizer_state: Option<Bytes> = match base.making.finalizer_state {
        Some(state) => Some(coordinator.blobs.get(state).await?),
        None => None,
    };
    let reports = || accepted.iter().map(|update| (update.weight, update.metrics.step_count));
    let attenuations = attenuations(task, base_version, &accepted);
    let commit = Commit {
        number: base_version + 1,
        mean_staleness,
        updates: accepted.len() as u64,
        local_rate_sum: task.description.local_rate_sum(reports()),
    };
    let members = members(coordinator, task, record, &accepted).await?;
    let examples = examples(coordinator, task, newest.clone()).await?;
    let partial = partial_sums::read(coordinator, task, record, &accepted).await?;
    Ok(Making {
        description: task.description.clone(),
        round_id: record.round.id,
        accepted,
        partial,
        attenuations,
        newest,
        bases,
        finalizer_state,
        commit,
        private: private(coordinator, task, &base).await?,
        masked: masked(coordinator, task, record).await?,
        parts: PartPlaces::of(&task.description.plan, &task.schema),
        own: components::own(coordinator, &task.description).await?,
        members,
        examples,
    })
}

/// Returns the client of each update, if the aggregator knows its clients.
async fn members(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    accepted: &[AcceptedUpdate],
) -> Result<Vec<ClientId>, DriveError> {
    if !matches!(task.description.aggregator, AggregatorChoice::Afl(_)) {
        return Ok(Vec::new());
    }
    let assignments = coordinator.storage.assignments(record.round.id).await?;
    let clients: BTreeMap<_, _> = assignments.iter().map(|one| (one.id, one.client_id)).collect();
    let client = |update: &AcceptedUpdate| clients.get(&update.assignment_id).copied();
    let members: Option<Vec<ClientId>> = accepted.iter().map(client).collect();
    Ok(members.ok_or(StorageError::NotFound("assignment of an update"))?)
}

/// Returns the masks of a round with secure aggregation; `None` for other rounds.
async fn masked(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<Option<Masked>, DriveError> {
    let (description, parameter_count) = (&task.description, task.schema.parameter_count());
    let (Some(ring), Some(terms)) = (description.ring(parameter_count), description.secure_terms()) else {
        return Ok(None);
    };
    let removal = match description.protection.committee() {
        Some(_) => {
            Removal::Sums(coordinator.committees.found(record.round.id).ok_or(UnmaskError::NotSummed)?)
        }
        None => Removal::Masks(secure::masks(coordinator, task, record).await?),
    };
    Ok(Some(Masked { ring, removal, is_weighted: terms.is_weighted }))
}

/// The mean and maximum staleness of a commit's updates, in versions.
struct Staleness {
    mean: f64,
    max: u64,
}

impl Staleness {
    fn of(accepted: &[AcceptedUpdate], base_version: u64) -> Self {
        let ages = accepted.iter().map(|update| base_version.saturating_sub(update.base_version));
        let (sum, max) = ages.fold((0, 0), |(sum, max), age| (sum + age, max.max(age)));
        Self { mean: sum as f64 / accepted.len().max(1) as f64, max }
    }
}
