//! Sends the sums that closed rounds wait for, and deletes the updates of rounds that have ended.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use folkmoot_api::{
    AdminError,
    client::with_causes,
    rounds::aggregators::{AggregatorWorkRequest, AggregatorWorkView, ROUNDS_MAX, WantedSumView},
};
use folkmoot_combine::{PartialSum, ingest::Ingest};
use folkmoot_edge::warn_of;
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
    #[error(
        "{0}; this aggregator does not have an update that its key has reported, so the round will be abandoned. Was the data \
         folder replaced, or does another aggregator use the same key?"
    )]
    Missing(RoundLogError),
    #[error("the round log: {0}")]
    RoundLog(RoundLogError),
    #[error("the task has no ring for masked updates of its model")]
    NoRing,
    #[error("the sum was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl From<RoundLogError> for WorkError {
    fn from(error: RoundLogError) -> Self {
        match error {
            RoundLogError::NotFound(_) | RoundLogError::TooShort { .. } => Self::Missing(error),
            error => Self::RoundLog(error),
        }
    }
}

/// The work of an aggregator.
pub struct Work {
    ingest: Arc<Ingest>,
    upstream: Arc<Upstream>,
    /// The last round that the coordinator was asked about. The next request begins after it.
    asked_to: Option<RoundId>,
    /// The rounds whose failure is in the log.
    failed: BTreeSet<RoundId>,
}

impl Work {
    pub fn new(ingest: Arc<Ingest>, upstream: Arc<Upstream>) -> Self {
        Self { ingest, upstream, asked_to: None, failed: BTreeSet::new() }
    }

    /// Works until `stopped` resolves.
    pub async fn run(mut self, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        loop {
            let step = async {
                if !self.step().await {
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

    /// Returns whether the next step may follow at once.
    async fn step(&mut self) -> bool {
        let work = match self.ask().await {
            Ok(work) => work,
            Err(error) => {
                let reason = with_causes(&error);
                warn_of(
                    "upstream",
                    &format!("the coordinator has given no work, and is asked again: {reason}"),
                );
                self.upstream.note(Some(format!("the coordinator does not serve this aggregator: {error}")));
                return false;
            }
        };
        self.upstream.note(None);
        for round in work.ended {
            self.failed.remove(&round);
            if let Err(error) = self.ingest.forget_round(round) {
                tracing::warn!(%error, %round, "the updates of a round that has ended could not be deleted; the next step tries again");
            }
        }
        let mut is_well = true;
        for wanted in work.wanted {
            let round = wanted.round_id;
            // A sum that fails does not stop the others.
            if let Err(error) = self.send(wanted).await {
                is_well = false;
                if self.failed.insert(round) {
                    tracing::error!(error = with_causes(&error), %round, "a sum could not be sent; it is tried until the round ends");
                }
            }
        }
        is_well
    }

    /// Asks for work, and whether rounds have ended of which there are updates: at most 1,000 at a time, in turn.
    async fn ask(&mut self) -> Result<AggregatorWorkView, WorkError> {
        let all = self.ingest.log().rounds()?;
        let after = all.iter().filter(|round| self.asked_to.is_none_or(|last| **round > last));
        let mut rounds: Vec<RoundId> = after.take(ROUNDS_MAX).copied().collect();
        self.asked_to = rounds.last().copied().filter(|_| rounds.len() == ROUNDS_MAX);
        if rounds.is_empty() {
            rounds = all.into_iter().take(ROUNDS_MAX).collect();
        }
        let asked = AggregatorWorkRequest { rounds, wait_seconds: WAIT_SECONDS };
        Ok(self.upstream.admin.aggregator_work(&asked).await?)
    }

    async fn send(&self, wanted: WantedSumView) -> Result<(), WorkError> {
        let task = self.upstream.task(wanted.task_id).await?;
        let (round, task_id) = (wanted.round_id, wanted.task_id);
        let updates: Vec<(AssignmentId, f64)> =
            wanted.updates.iter().map(|one| (one.assignment_id, f64::from_bits(one.factor_bits))).collect();
        let (count, ingest) = (updates.len(), self.ingest.clone());
        let sum = tokio::task::spawn_blocking(move || {
            let (description, parameters) = (&task.description, task.schema.parameter_count());
            let values = to_length(parameters);
            if description.protection.is_masked() {
                let ring = description.ring(parameters).ok_or(WorkError::NoRing)?;
                let ids: Vec<AssignmentId> = updates.into_iter().map(|(id, _)| id).collect();
                return Ok(
                    PartialSum::Masked(masked_sum(ingest.log(), round, &ids, (ring, values))?).encode()
                );
            }
            let sum = ingest.sum_of(round, description.grid, values, description.aggregator.measurement());
            if let Err(error) = sum.settle(ingest.log(), &updates) {
                // The sum may be half settled; rebuild it from the log.
                ingest.forget_sum(round);
                return Err(error.into());
            }
            Ok::<_, WorkError>(PartialSum::Plain(sum.values()).encode())
        });
        self.upstream.admin.send_partial_sum(round, sum.await??).await?;
        tracing::info!(task = %task_id, %round, updates = count, "a sum was sent");
        Ok(())
    }
}
