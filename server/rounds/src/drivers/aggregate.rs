use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use folkmoot_coordinator::{
    aggregation::sum_metrics, finalizer::Commit, invariants, round::Purpose, scheduling::Correction,
};
use folkmoot_protocol::{BlobDigest, Timestamp, update::UpdateMetrics};
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, LedgerRepository, ModelVersionRecord, ModelVersionRepository,
    RoundRecord, StorageError, TaskRecord, VersionMaking,
};

use super::{
    DriveError,
    commit::{End, commit},
    evaluate::{self, combine_reports},
    open,
};
use crate::{
    combine::{Bases, Making, Private},
    coordinator::Coordinator,
    privacy,
};

/// Combines a closed round's updates, releases the model version that comes of them, and forgets the updates.
///
/// Every repetition makes the same bytes, so a crash at any point is answered by doing it again.
pub async fn aggregate(
    coordinator: &Arc<Coordinator>,
    task: &TaskRecord,
    record: RoundRecord,
    now: Timestamp,
) -> Result<bool, DriveError> {
    let storage = &coordinator.storage;
    let accepted = storage.accepted_updates(record.round.id).await?;
    invariants::the_aggregate_is_of_the_accepted(&record.round, accepted.len() as u64)?;
    if record.round.purpose == Purpose::Evaluation {
        return combine_reports(coordinator, task, record, &accepted, now).await;
    }
    let metrics = if task.description.privacy.is_none() {
        sum_metrics(accepted.iter().map(|update| &update.metrics))
    } else {
        discard_unreleased(coordinator, task, &record).await?;
        // What clients measured is theirs here: it would be released without noise.
        UpdateMetrics::default()
    };
    let (shared, making) = (coordinator.clone(), making(coordinator, task, &record, accepted.clone()).await?);
    let staleness = Staleness::of(&accepted, record.round.base_version);
    let made = tokio::task::spawn_blocking(move || making.make(&shared.ingest, &shared.noises)).await??;

    let number = record.round.base_version + 1;
    let weights_bytes = made.weights.len() as u64;
    let (weights, noise) = (Bytes::from(made.weights), Bytes::from(made.noise_state));
    let state = Bytes::from(made.finalizer_state);
    let stop = open::stop_reason(coordinator, task, 1, now).await?;
    // A task that was cancelled while its last round aggregated stays cancelled. Where its last version is still to
    // be measured, that is done before it ends.
    let ends_now = stop.filter(|_| !evaluate::is_measured_centrally(task, number));
    // Where no version comes after, what takes the noise off this one is not kept.
    let is_last = ends_now.is_some() || task.state.is_final();
    let noise = if is_last { Bytes::new() } else { noise };
    if made.clipping_norm.is_some() {
        let blobs = [&weights, &state, &noise].into_iter().filter(|blob| !blob.is_empty());
        let blobs: Vec<BlobDigest> = blobs.map(|blob| BlobDigest::of(blob)).collect();
        storage.note_unreleased(record.round.id, &blobs).await?;
    }
    let weights = coordinator.blobs.put(weights).await?;
    let finalizer_state = keep(coordinator, state).await?;
    let noise_state = keep(coordinator, noise).await?;
    let version = ModelVersionRecord {
        task_id: task.id,
        number,
        round_id: Some(record.round.id),
        weights,
        weights_bytes,
        metrics,
        making: VersionMaking {
            finalizer_state,
            change_norm: made.change_norm,
            mean_staleness: staleness.mean,
            staleness_max: staleness.max,
            clipping_norm: made.clipping_norm,
            noise_state,
            ..VersionMaking::default()
        },
        created_at: now,
    };
    let end = End { stop, ends_now };
    tracing::debug!(task = %task.id, round = record.round.number, version = number, "version made");
    if commit(coordinator, task, record, &version, &accepted, end, now).await? {
        forget_noise(coordinator, task, &version).await;
    }
    Ok(true)
}

/// Stores what is kept for the next version, if anything is.
async fn keep(coordinator: &Coordinator, state: Bytes) -> Result<Option<BlobDigest>, DriveError> {
    if state.is_empty() { Ok(None) } else { Ok(Some(coordinator.blobs.put(state).await?)) }
}

/// Brings together what the next version is made of.
async fn making(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
    accepted: Vec<AcceptedUpdate>,
) -> Result<Making, DriveError> {
    let base_version = record.round.base_version;
    let base = find(coordinator, task, base_version).await?;
    let newest = coordinator.blobs.get(base.weights).await?;
    let policy = task.description.scheduling.policy();
    let correction = policy.staleness().correction;
    let mut bases = Bases { correction, newest: base_version, ..Bases::default() };
    if correction != Correction::None {
        let versions: BTreeSet<u64> = accepted.iter().map(|update| update.base_version).collect();
        for number in versions.into_iter().filter(|number| *number != base_version) {
            bases
                .weights
                .insert(number, coordinator.blobs.get(find(coordinator, task, number).await?.weights).await?);
        }
        bases.weights.insert(base_version, newest.clone());
    }
    let finalizer_state: Option<Bytes> = match base.making.finalizer_state {
        Some(state) => Some(coordinator.blobs.get(state).await?),
        None => None,
    };
    // An update that is too old was dropped before it could be accepted.
    let attenuation = |update: &AcceptedUpdate| {
        policy.staleness_weight(base_version.saturating_sub(update.base_version)).unwrap_or(0.0)
    };
    let attenuations = accepted.iter().map(attenuation).collect();
    let mean_staleness = Staleness::of(&accepted, base_version).mean;
    Ok(Making {
        description: task.description.clone(),
        round_id: record.round.id,
        accepted,
        attenuations,
        newest,
        bases,
        finalizer_state,
        commit: Commit { number: base_version + 1, mean_staleness },
        private: private(coordinator, task, &base).await?,
    })
}

/// Returns the terms of the release, where the coordinator makes versions private.
async fn private(
    coordinator: &Coordinator,
    task: &TaskRecord,
    base: &ModelVersionRecord,
) -> Result<Option<Private>, DriveError> {
    let (Some(terms), Some(central)) = (privacy::terms(task), task.description.privacy.central()) else {
        return Ok(None);
    };
    let Some(norm) = privacy::clipping_norm(task, base) else { return Ok(None) };
    let stream_state = match base.making.noise_state {
        Some(state) => Some(coordinator.blobs.get(state).await?),
        // A stream that began anew would not be what was charged.
        None if terms.stream.is_some() && base.number > 0 => {
            return Err(StorageError::NotFound("state of the noise").into());
        }
        None => None,
    };
    Ok(Some(Private { task: task.id, terms, clipping: central.clipping, norm, stream_state }))
}

/// Deletes what an attempt left behind that ended before its commit: the next one draws other noise, and two noisy copies
/// of one sum tell more than is charged. Nothing but a version that did not change the model has such a blob, too.
pub(super) async fn discard_unreleased(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<(), DriveError> {
    let storage = &coordinator.storage;
    let blobs = storage.unreleased(record.round.id).await?;
    if blobs.is_empty() {
        return Ok(());
    }
    let base = find(coordinator, task, record.round.base_version).await?;
    let of_base = [Some(base.weights), base.making.finalizer_state, base.making.noise_state];
    for blob in blobs.into_iter().filter(|blob| !of_base.contains(&Some(*blob))) {
        coordinator.blobs.delete(blob).await?;
    }
    Ok(storage.forget_unreleased(record.round.id).await?)
}

/// Deletes where the stream of noise stood before a version: who reads it takes noise off again.
async fn forget_noise(coordinator: &Coordinator, task: &TaskRecord, version: &ModelVersionRecord) {
    if privacy::terms(task).is_none_or(|terms| terms.stream.is_none()) {
        return;
    }
    if let Err(error) = forget_states_before(coordinator, task, version.number).await {
        tracing::error!(%error, task = %task.id, "a state of the noise is not deleted; the next version looks for it again");
    }
}

/// Deletes the states before a version. More than one is left where processes ended before they came to that.
async fn forget_states_before(
    coordinator: &Coordinator,
    task: &TaskRecord,
    number: u64,
) -> Result<(), DriveError> {
    let mut left = Vec::new();
    for number in (0..number).rev() {
        let Some(state) = find(coordinator, task, number).await?.making.noise_state else { break };
        if !coordinator.blobs.exists(state).await? {
            break;
        }
        left.push(state);
    }
    // The oldest first: a process that ends in between leaves none behind a gap.
    for state in left.into_iter().rev() {
        coordinator.blobs.delete(state).await?;
    }
    Ok(())
}

async fn find(
    coordinator: &Coordinator,
    task: &TaskRecord,
    number: u64,
) -> Result<ModelVersionRecord, DriveError> {
    let version = coordinator.storage.model_version(task.id, number).await?;
    Ok(version.ok_or(StorageError::NotFound("model version"))?)
}

/// How old the updates of a commit are, in versions.
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
