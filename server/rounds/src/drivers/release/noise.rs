//! What differential privacy keeps beside a release: what an attempt left behind, and where a stream of noise stands.

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

/// Returns the terms of the release, where the coordinator makes versions private.
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

/// Deletes where the stream of noise stood before a version: who reads it takes noise off again.
pub async fn forget_before(coordinator: &Coordinator, task: &TaskRecord, version: &ModelVersionRecord) {
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
        let Some(state) = version(coordinator, task, number).await?.making.noise_state else { break };
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

/// Deletes where the stream of noise stands, for a task that is about to end or has ended. A round that still aggregates
/// needs it, and stores none itself.
///
/// # Errors
/// If the storage fails.
pub async fn forget_last_noise(coordinator: &Coordinator, id: TaskId) -> Result<(), DriveError> {
    let newest = coordinator.storage.latest_model_version(id).await?;
    let Some(noise) = newest.and_then(|version| version.making.noise_state) else { return Ok(()) };
    if coordinator.storage.unfinished_round(id).await?.is_none() {
        coordinator.blobs.delete(noise).await?;
    }
    Ok(())
}
