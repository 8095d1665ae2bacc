//! Prepares the noise of a release, and deletes noisy blobs of interrupted attempts and old states of correlated noise.

use folkmoot_protocol::TaskId;
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
pub async fn discard_unreleased(
    coordinator: &Coordinator,
    task: &TaskRecord,
    record: &RoundRecord,
) -> Result<(), DriveError> {
    let storage = &coordinator.storage;
    let blobs = storage.unreleased(record.round.id).await?;
    if blobs.is_empty() {
        return Ok(());
    }
    let base = version(coordinator, task, record.round.base_version).await?;
    let of_base = [Some(base.weights), base.making.finalizer_state, base.making.noise_state];
    for blob in blobs.into_iter().filter(|blob| !of_base.contains(&Some(*blob))) {
        coordinator.blobs.delete(blob).await?;
    }
    Ok(storage.forget_unreleased(record.round.id).await?)
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
