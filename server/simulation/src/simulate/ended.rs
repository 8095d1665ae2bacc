//! Records the rounds that a driver's step has ended.

use folkmoot_coordinator::round::{Phase, Purpose};
use folkmoot_storage::{
    EvaluationRepository, EvaluationSource, ModelVersionRepository, RoundRecord, RoundRepository,
};

use super::{SimulateError, recorder::median, world::World};
use crate::record::{RoundOutcome, RoundRow};

/// The number of recent rounds to examine after a step. No more than these can end between two steps.
const RECENT_ROUNDS: u32 = 3;

impl World {
    /// Records the rounds that a driver's step has ended.
    pub async fn record(&mut self) -> Result<(), SimulateError> {
        let mut rounds = self.storage.rounds(self.task, RECENT_ROUNDS, None).await?;
        rounds.reverse();
        for record in rounds {
            let is_new = record.round.number > self.recorder.last_round;
            if is_new && record.round.purpose == Purpose::Training && record.round.phase.is_final() {
                self.recorder.last_round = record.round.number;
                self.record_round(&record).await?;
            }
        }
        self.record_evaluation().await
    }

    async fn record_round(&mut self, record: &RoundRecord) -> Result<(), SimulateError> {
        let seconds = self.now as f64 / 1000.0;
        let since = std::mem::take(&mut self.recorder.since);
        let norms = std::mem::take(&mut self.recorder.norms);
        let mut row = RoundRow {
            round_number: record.round.number,
            virtual_seconds: seconds,
            duration_seconds: seconds - self.recorder.last_end,
            drawn: since.started,
            dropped: since.dropped,
            bytes_down: since.down,
            bytes_up: since.up,
            client_rounds: since.started,
            update_norm_median: median(norms),
            ..RoundRow::default()
        };
        self.recorder.last_end = seconds;
        match &record.round.phase {
            Phase::Committed { cohort, accepted, version, .. } => {
                self.value_clients(record).await?;
                let found = self.storage.model_version(self.task, *version).await?;
                let made = found
                    .ok_or_else(|| SimulateError::Client(format!("the task has no version {version}")))?;
                row.version = Some(*version);
                row.reported = *accepted;
                row.drawn = row.drawn.max(*cohort);
                row.staleness_mean = Some(made.making.mean_staleness);
                row.staleness_max = Some(made.making.staleness_max);
                let base = self.storage.model_version(self.task, version.saturating_sub(1)).await?;
                row.clipping_norm = base.and_then(|base| base.making.clipping_norm);
                row.train_loss = made.metrics.mean_loss();
                row.train_accuracy = made.metrics.accuracy();
                if let Some(measured) = self.measure_on_clients(&made).await? {
                    row.held_out_loss = measured.loss;
                    row.held_out_metric = measured.metric;
                    row.set_fairness(measured.fairness);
                }
            }
            Phase::Abandoned { reason, .. } => {
                row.outcome = RoundOutcome::Abandoned;
                row.reason =
                    serde_json::to_value(reason).ok().and_then(|value| value.as_str().map(str::to_owned));
            }
            _ => {}
        }
        self.recorder.rows.push(row);
        Ok(())
    }

    async fn record_evaluation(&mut self) -> Result<(), SimulateError> {
        let Some(evaluation) = &self.recorder.evaluation else { return Ok(()) };
        let (every, is_central) = (evaluation.every_versions.max(1), evaluation.central);
        let Some(version) = self.recorder.rows.iter().rev().find_map(|row| row.version) else {
            return Ok(());
        };
        let due = version - version % every;
        for record in self.storage.evaluations_at(self.task, due).await? {
            let is_fine_tuned = record.source == EvaluationSource::FineTuned;
            if is_fine_tuned || is_central == (record.source == EvaluationSource::Central) {
                self.recorder.measured(due, &record);
            }
        }
        Ok(())
    }
}
