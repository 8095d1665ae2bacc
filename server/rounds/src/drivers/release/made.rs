use bytes::Bytes;
use folkmoot_protocol::{BlobDigest, Timestamp, update::UpdateMetrics};
use folkmoot_storage::{
    AcceptedUpdate, LedgerRepository, ModelVersionRecord, RoundRecord, TaskRecord, VersionMaking,
};

use super::{
    prepare::Staleness,
    publish::{Candidate, End},
};
use crate::{
    combine,
    coordinator::Coordinator,
    drivers::{DriveError, evaluate, open},
};

/// A version that was made and is not stored.
pub struct Made {
    pub(super) record: RoundRecord,
    pub(super) accepted: Vec<AcceptedUpdate>,
    pub(super) metrics: UpdateMetrics,
    pub(super) staleness: Staleness,
    pub(super) version: combine::Made,
}

impl Made {
    /// Stores the version's blobs. Those of a private one are noted first, so that an attempt that ends before it is published
    /// leaves nothing behind that is not found.
    ///
    /// # Errors
    /// If the storage or the blob store fails.
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
        // A task that was cancelled while its last round aggregated stays cancelled. Where its last version is still to
        // be measured, that is done before it ends.
        let ends_now = stop.filter(|_| !evaluate::is_measured_centrally(task, number));
        // Where no version comes after, what takes the noise off this one is not kept.
        let is_last = ends_now.is_some() || task.state.is_final();
        let noise = if is_last { Bytes::new() } else { noise };
        if made.clipping_norm.is_some() {
            let blobs = [&weights, &state, &noise].into_iter().filter(|blob| !blob.is_empty());
            let blobs: Vec<BlobDigest> = blobs.map(|blob| BlobDigest::of(blob)).collect();
            coordinator.storage.note_unreleased(record.round.id, &blobs).await?;
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
                noise_state: keep(coordinator, noise).await?,
                ..VersionMaking::default()
            },
            created_at: now,
        };
        tracing::debug!(task = %task.id, round = record.round.number, version = number, "version made");
        Ok(Candidate { record, accepted, version, end: End { stop, ends_now } })
    }
}

/// Stores what is kept for the next version, if anything is.
async fn keep(coordinator: &Coordinator, state: Bytes) -> Result<Option<BlobDigest>, DriveError> {
    if state.is_empty() { Ok(None) } else { Ok(Some(coordinator.blobs.put(state).await?)) }
}
