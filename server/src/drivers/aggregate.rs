use std::sync::Arc;

use bytes::Bytes;
use folkmoot_coordinator::{
    aggregation::{AggregatorChoice, WeightedMean, sum_metrics},
    invariants,
    round::RoundInput,
    task::{TaskDescription, TaskInput},
};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{
    AcceptedUpdate, AssignmentRepository, ModelVersionRecord, ModelVersionRepository, RoundLogError,
    RoundRecord, RoundRepository, StorageError, TaskRecord,
};

use super::DriveError;
use crate::{
    coordinator::Coordinator,
    ingest::{Ingest, RoundSum},
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
    let base = storage.model_version(task.id, record.round.base_version).await?;
    let base = base.ok_or(StorageError::NotFound("model version"))?;
    let base_weights = coordinator.blobs.get(base.weights).await?;

    let (shared, description) = (coordinator.clone(), task.description.clone());
    let (round_id, parameters) = (record.round.id, task.schema.parameter_count() as usize);
    let metrics = sum_metrics(accepted.iter().map(|update| &update.metrics));
    let combined = tokio::task::spawn_blocking(move || {
        let sum = shared.ingest.sum_of(round_id, description.grid, parameters);
        let next_weights = next_weights(&shared.ingest, &sum, &accepted, &description, &base_weights);
        if next_weights.is_err() {
            // A sum that could be half reconciled is made again from the log.
            shared.ingest.forget_sum(round_id);
        }
        next_weights
    });
    let next_weights = Bytes::from(combined.await??);

    let number = record.round.base_version + 1;
    let weights_bytes = next_weights.len() as u64;
    let weights = coordinator.blobs.put(next_weights).await?;
    let version = ModelVersionRecord {
        task_id: task.id,
        number,
        round_id: Some(record.round.id),
        weights,
        weights_bytes,
        metrics,
        created_at: now,
    };
    let released = RoundInput::Released { version: number };
    let (policy, selection) = (task.description.scheduling.policy(), task.description.selection);
    let (round, _) =
        coordinator.with_chance(|rng| record.round.clone().step(released, policy, selection, now, rng))?;
    invariants::check_round(&round)?;
    let (_, committed) = storage.round_counts(task.id).await?;
    let stop = task.description.stop.met(committed + 1);
    let task_state = stop.map(|reason| task.state.step(TaskInput::Complete(reason))).transpose();
    let next = RoundRecord { round, ..record };
    // A task that was cancelled while its last round aggregated stays cancelled.
    storage.commit_round(&next, &version, task_state.unwrap_or_default()).await?;
    tracing::info!(task = %task.id, round = next.round.number, version = number, weights = %weights, "round committed");
    metrics::counter!("folkmoot_round_transitions_total", "phase" => "committed").increment(1);
    coordinator.ingest.forget_round(next.round.id)?;
    Ok(true)
}

/// Computes the next weights, one tile at a time: the base weights and one new copy are all the memory.
fn next_weights(
    ingest: &Ingest,
    sum: &RoundSum,
    accepted: &[AcceptedUpdate],
    description: &TaskDescription,
    base_weights: &[u8],
) -> Result<Vec<u8>, RoundLogError> {
    sum.reconcile(ingest.log(), accepted)?;
    let weights = accepted.iter().map(|update| update.weight).sum();
    let AggregatorChoice::WeightedMean = description.aggregator;
    let mean = WeightedMean::new(&description.grid, weights)
        .expect("a round that aggregates has an update of weight 1 or more");
    let finalizer = description.finalizer.finalizer();
    let (base, _) = base_weights.as_chunks::<4>();
    let mut base = base.iter();
    let mut out = Vec::with_capacity(base_weights.len());
    sum.for_each_tile(|tile| {
        for (&sum, weight) in tile.iter().zip(&mut base) {
            let next = finalizer.next(f32::from_le_bytes(*weight), mean.of(sum));
            out.extend_from_slice(&next.to_le_bytes());
        }
    });
    Ok(out)
}
