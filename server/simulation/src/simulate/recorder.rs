//! Recording of the rounds.

use folkmoot_coordinator::task::Evaluation;
use folkmoot_engine::Evaluator;
use folkmoot_protocol::{Metric, Work};
use folkmoot_storage::{EvaluationRecord, EvaluationSource};

use crate::record::RoundRow;

/// The counts since the end of the last round, and the rows so far.
pub(super) struct Recorder {
    pub evaluation: Option<Evaluation>,
    pub rows: Vec<RoundRow>,
    /// The number of rows that were already returned. The other rows wait until their version is measured.
    pub told: usize,
    pub last_round: u64,
    pub last_end: f64,
    pub since: Since,
    /// The norms of the updates since the end of the last round, before clipping.
    pub norms: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Since {
    pub down: u64,
    pub up: u64,
    pub started: u64,
    pub dropped: u64,
}

impl Recorder {
    pub fn new(evaluation: Option<&Evaluation>) -> Self {
        Self {
            evaluation: evaluation.cloned(),
            rows: Vec::new(),
            told: 0,
            last_round: 0,
            last_end: 0.0,
            since: Since::default(),
            norms: Vec::new(),
        }
    }

    pub fn down(&mut self, bytes: u64) {
        self.since.down += bytes;
    }

    pub fn up(&mut self, bytes: u64) {
        self.since.up += bytes;
    }

    pub fn started(&mut self, work: Work) {
        self.since.started += u64::from(work == Work::Training);
    }

    pub fn trained(&mut self, norm: f64) {
        self.norms.push(norm);
    }

    pub fn dropped(&mut self) {
        self.since.dropped += 1;
    }

    /// Returns the rows that were not returned before and will not change any more.
    pub fn finished(&mut self) -> Vec<RoundRow> {
        // The last row waits, because its version may still be measured.
        let end = self.rows.len().saturating_sub(1);
        self.tell(end)
    }

    /// Returns all rows that were not returned before.
    pub fn end(&mut self) -> Vec<RoundRow> {
        self.tell(self.rows.len())
    }

    fn tell(&mut self, end: usize) -> Vec<RoundRow> {
        let rows = self.rows.get(self.told..end).map(<[RoundRow]>::to_vec).unwrap_or_default();
        self.told = self.told.max(end);
        rows
    }

    /// Returns all rows.
    pub fn rows(&self) -> Vec<RoundRow> {
        self.rows.clone()
    }

    /// Adds the metrics of a version that was measured.
    pub fn measured(&mut self, version: u64, evaluation: &EvaluationRecord) {
        let metric = self.evaluation.as_ref().map_or(Metric::Accuracy, |one| one.metric);
        if let Some(row) = self.rows.iter_mut().rev().find(|row| row.version == Some(version)) {
            let (loss, value) = match evaluation.source {
                EvaluationSource::FineTuned => (&mut row.fine_tuned_loss, &mut row.fine_tuned_metric),
                _ => (&mut row.held_out_loss, &mut row.held_out_metric),
            };
            (*loss, *value) = (evaluation.value(Metric::Loss), evaluation.value(metric));
        }
    }
}

/// A measurement of versions on the held-out examples of each client, with the client's own personal tensors.
pub(super) struct OwnMetric {
    pub metric: Metric,
    pub every_versions: u64,
    pub evaluator: Option<Evaluator>,
    /// The metric of each client in the last version that was measured. Values that are not finite are left out.
    pub last: Vec<f64>,
}

impl OwnMetric {
    pub fn new(metric: Metric, every_versions: u64) -> Self {
        Self { metric, every_versions: every_versions.max(1), evaluator: None, last: Vec::new() }
    }
}

/// Returns the median, or `None` without values. For an even number of values, it is the lower of the two middle
/// values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}
