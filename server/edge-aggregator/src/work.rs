//! Sends the sums that closed rounds wait for, and deletes the updates of rounds that have ended.

use std::{sync::Arc, time::Duration};

use folkmoot_api::{
    AdminError,
    rounds::aggregators::{AggregatorWorkRequest, ROUNDS_MAX, WantedSumView},
};
use folkmoot_combine::{PartialSum, ingest::Ingest};
use folkmoot_protocol::{AssignmentId, RoundId, saturating::to_length};
use folkmoot_round_log::RoundLogError;
use folkmoot_unmasking::masked_sum;

use crate::upstream::Upstream;

/// The time for which the coordinator may wait for work before it answers, in seconds.
const WAIT_SECONDS: u32 = 20;
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a step of the work failed. The next step tries again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Coordinator(#[from] AdminError),
    #[error("the round log: {0}")]
    RoundLog(#[from] RoundLogError),
    #[error("the task has no ring for masked updates of its model")]
    NoRing,
    #[error("the sum was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Works until `stopped` resolves.
pub async fn run(ingest: Arc<Ingest>, upstream: Arc<Upstream>, stopped: impl Future<Output = ()>) {
    tokio::pin!(stopped);
    loop {
        let step = async {
            if let Err(error) = step(&ingest, &upstream).await {
                tracing::warn!(error = %error_text(&error), "the aggregator could not do its work; it tries again");
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::select! {
            biased;
            () = &mut stopped => return,
            () = step => {}
        }
    }
}

fn error_text(error: &WorkError) -> String {
    match error {
        WorkError::Coordinator(error) => error.to_string(),
        error => error.to_string(),
    }
}

async fn step(ingest: &Arc<Ingest>, upstream: &Upstream) -> Result<(), WorkError> {
    let rounds: Vec<RoundId> = ingest.log().rounds()?.into_iter().take(ROUNDS_MAX).collect();
    let asked = AggregatorWorkRequest { rounds, wait_seconds: WAIT_SECONDS };
    let work = upstream.admin.aggregator_work(&asked).await?;
    for round in work.ended {
        ingest.forget_round(round)?;
    }
    let mut failed = None;
    for wanted in work.wanted {
        let round = wanted.round_id;
        // A sum that fails does not stop the others.
        if let Err(error) = send(ingest, upstream, wanted).await {
            tracing::warn!(error = %error_text(&error), %round, "a sum could not be sent");
            failed = Some(error);
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn send(ingest: &Arc<Ingest>, upstream: &Upstream, wanted: WantedSumView) -> Result<(), WorkError> {
    let task = upstream.task(wanted.task_id).await?;
    let round = wanted.round_id;
    let updates: Vec<(AssignmentId, f64)> =
        wanted.updates.iter().map(|one| (one.assignment_id, f64::from_bits(one.factor_bits))).collect();
    let (count, shared) = (updates.len(), ingest.clone());
    let sum = tokio::task::spawn_blocking(move || {
        let (description, parameters) = (&task.description, task.schema.parameter_count());
        let values = to_length(parameters);
        if description.protection.is_masked() {
            let ring = description.ring(parameters).ok_or(WorkError::NoRing)?;
            let ids: Vec<AssignmentId> = updates.into_iter().map(|(id, _)| id).collect();
            return Ok(PartialSum::Masked(masked_sum(shared.log(), round, &ids, (ring, values))?).encode());
        }
        let sum = shared.sum_of(round, description.grid, values, description.aggregator.measurement());
        if let Err(error) = sum.settle(shared.log(), &updates) {
            // The sum may be half settled; rebuild it from the log.
            shared.forget_sum(round);
            return Err(error.into());
        }
        Ok::<_, WorkError>(PartialSum::Plain(sum.values()).encode())
    });
    upstream.admin.send_partial_sum(round, sum.await??).await?;
    tracing::info!(%round, updates = count, "a sum was sent");
    Ok(())
}
