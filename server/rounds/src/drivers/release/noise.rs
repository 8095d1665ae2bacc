//! Prepares the noise of a release, and deletes noisy blobs of interrupted attempts and old states of correlated noise.

use folkmoot_protocol::{BlobDigest, RoundId, TaskId};
use folkmoot_storage::{
    LedgerRepository, ModelVersionRecord, ModelVersionRepository, RoundRecord, RoundRepository, StorageError,
    TaskRecord,
};

use crate::{
    combine::Private,
    coordinator::Coordinator,
    drivers::{DriveError, versions::version},
    privacy,
};

/// Returns the privacy terms and noise state of the release, if the coordinator adds noise.
pub async fn private(
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
        // A new stream would not match the charge in the ledger.
        None if terms.stream.is_some() && base.number > 0 => {
            return Err(StorageError::NotFound("noise state of the last version").into());
        }
        None => None,
    };
    Ok(Some(Private { task: task.id, terms, clipping: central.clipping, norm, stream_state }))
}

/// Deletes the blobs of an attempt that ended before its commit. The next attempt draws different noise, and two noisy
/// copies of one sum reveal more than was charged. A blob that the base version also uses is kept. Such a blob exists
/// only if the attempt did not change the model.
///
/// The attempt may belong to another process that still runs. So the round's revision is incremented before anything
/// is deleted: that process can no longer commit. Returns the round with its revision.
pub async fn discard_unreleased(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: RoundRecord,
) -> Result<RoundRecord, DriveError> {
    let storage = &coordinator.storage;
    if storage.unreleased(record.round.id).await?.is_empty() {
        return Ok(record);
    }
    storage.store_phase(&record).await?;
    let record = RoundRecord { revision: record.revision + 1, ..record };
    let base = version(coordinator, task, record.round.base_version).await?;
    delete_unreleased(coordinator, record.round.id, &base.blobs()).await?;
    Ok(record)
}

/// Deletes the recorded blobs of a round, except these.
async fn delete_unreleased(
    coordinator: &Coordinator,
    round: RoundId,
    kept: &[BlobDigest],
) -> Result<(), DriveError> {
    let blobs = coordinator.storage.unreleased(round).await?;
    for blob in blobs.iter().filter(|blob| !kept.contains(blob)) {
        coordinator.blobs.delete(*blob).await?;
    }
    Ok(coordinator.storage.forget_unreleased(round, &blobs).await?)
}

/// Deletes the blobs of attempts that have lost against the version that was committed, if there are any.
pub async fn discard_losers(
    coordinator: &Coordinator,
    task: &TaskRecord,
    round: RoundId,
    committed: &ModelVersionRecord,
) {
    let discarded = async {
        if coordinator.storage.unreleased(round).await?.is_empty() {
            return Ok(());
        }
        let base = version(coordinator, task, committed.number - 1).await?;
        delete_unreleased(coordinator, round, &[base.blobs(), committed.blobs()].concat()).await
    };
    if let Err(error) = discarded.await {
        tracing::error!(%error, task = %task.id, %round, "could not delete the blobs of a version that was not released; delete them from the store of blobs");
    }
}

/// Deletes the noise states of earlier versions. Anyone who reads such a state could remove the noise from `version`.
pub async fn forget_before(coordinator: &Coordinator, task: &TaskRecord, version: &ModelVersionRecord) {
    if privacy::terms(task).is_none_or(|terms| terms.stream.is_none()) {
        return;
    }
    if let Err(error) = forget_states_before(coordinator, task, version.number).await {
        tracing::error!(%error, task = %task.id, "could not delete an old noise state; the next version tries again");
    }
}

/// Deletes the noise states of earlier versions. There are several if earlier processes ended before they deleted
/// theirs.
async fn forget_states_before(
    coordinator: &Coordinator,
    task: &TaskRecord,
    number: u64,
) -> Result<(), DriveError> {
    let mut left = Vec::new();
    for number in (0..number).rev() {
        let Some(state) = version(coordinator, task, number).await?.making.noise_state else { break };
        if !coordinator.blobs.exists(state).await? {
            break;
        }
        left.push(state);
    }
    // Delete the oldest state first, so that an interruption leaves only the newest states.
    for state in left.into_iter().rev() {
        coordinator.blobs.delete(state).await?;
    }
    Ok(())
}

/// Deletes the current noise state of a task that is about to end or has ended. If a round is still aggregating, that
/// round needs the state. It stores no new state, and deletes this one when it ends.
///
/// # Errors
/// Fails if the storage fails.
pub async fn forget_last_noise(coordinator: &Coordinator, id: TaskId) -> Result<(), DriveError> {
    let newest = coordinator.storage.latest_model_version(id).await?;
    let Some(noise) = newest.and_then(|version| version.making.noise_state) else { return Ok(()) };
    if coordinator.storage.unfinished_round(id).await?.is_none() {
        coordinator.blobs.delete(noise).await?;
    }
    Ok(())
}
