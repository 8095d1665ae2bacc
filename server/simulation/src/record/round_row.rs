use serde::{Deserialize, Serialize};

use super::{Cell, Column, ColumnKind, Row};
use crate::spread::Fairness;

/// The outcome of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundOutcome {
    /// The round released a model version.
    #[default]
    Committed,
    /// The round was abandoned.
    Abandoned,
}

/// One round of a simulated task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRow {
    /// The round's number.
    pub round_number: u64,
    /// The model version that the round committed; `None` if the round was abandoned.
    pub version: Option<u64>,
    /// Whether the round committed or was abandoned.
    pub outcome: RoundOutcome,
    /// The reason why the round was abandoned; `None` if it committed.
    pub reason: Option<String>,
    /// The number of virtual seconds from the beginning of the simulation to the round's end.
    pub virtual_seconds: f64,
    /// The number of virtual seconds that the round took.
    pub duration_seconds: f64,
    /// The number of clients that were drawn.
    pub drawn: u64,
    /// The number of clients whose update was accepted.
    pub reported: u64,
    /// The number of clients that vanished, aborted or were late.
    pub dropped: u64,
    /// The mean staleness of the accepted updates, in versions.
    pub staleness_mean: Option<f64>,
    /// The maximum staleness of the accepted updates, in versions.
    pub staleness_max: Option<u64>,
    /// The number of bytes sent to the clients during the round.
    pub bytes_down: u64,
    /// The number of bytes sent from the clients during the round.
    pub bytes_up: u64,
    /// The number of trainings that clients started during the round, whether or not their updates were accepted.
    pub client_rounds: u64,
    /// The median of the updates' L2 norms before clipping. A real coordinator never sees these norms.
    pub update_norm_median: Option<f64>,
    /// The L2 norm to which updates were clipped.
    pub clipping_norm: Option<f64>,
    /// The mean loss over the clients' examples during training.
    pub train_loss: Option<f64>,
    /// The share of the examples that the model classified correctly during training.
    pub train_accuracy: Option<f64>,
    /// The committed version's mean loss over the held-out examples; `None` if the version was not evaluated.
    pub held_out_loss: Option<f64>,
    /// The committed version's metric over the held-out examples; `None` if the version was not evaluated.
    pub held_out_metric: Option<f64>,
    /// The loss after each client fine-tuned the version; `None` unless the task's evaluation fine-tunes.
    pub fine_tuned_loss: Option<f64>,
    /// The metric after each client fine-tuned the version; `None` unless the task's evaluation fine-tunes.
    pub fine_tuned_metric: Option<f64>,
    /// The mean of the clients' own values of that metric, if each measures the version on its held-out examples. Every client
    /// counts the same.
    pub client_metric_mean: Option<f64>,
    /// The standard deviation of the clients' own values.
    pub client_metric_deviation: Option<f64>,
    /// The mean over the tenth of the clients with the worst values.
    pub client_metric_worst_tenth: Option<f64>,
    /// The mean over the tenth of the clients with the best values.
    pub client_metric_best_tenth: Option<f64>,
}

impl RoundRow {
    /// Returns how evenly the version serves the clients; `None` if the clients did not measure it.
    pub fn fairness(&self) -> Option<Fairness> {
        Some(Fairness {
            mean: self.client_metric_mean?,
            deviation: self.client_metric_deviation?,
            worst_tenth: self.client_metric_worst_tenth?,
            best_tenth: self.client_metric_best_tenth?,
        })
    }

    /// Records how evenly the version serves the clients.
    pub fn set_fairness(&mut self, fairness: Option<Fairness>) {
        self.client_metric_mean = fairness.map(|one| one.mean);
        self.client_metric_deviation = fairness.map(|one| one.deviation);
        self.client_metric_worst_tenth = fairness.map(|one| one.worst_tenth);
        self.client_metric_best_tenth = fairness.map(|one| one.best_tenth);
    }
}

impl RoundOutcome {
    /// Returns the outcome's name in a file.
    pub fn name(self) -> &'static str {
        match self {
            RoundOutcome::Committed => "committed",
            RoundOutcome::Abandoned => "abandoned",
        }
    }
}

impl Row for RoundRow {
    const COLUMNS: &'static [Column] = &[
        Column::always("round_number", ColumnKind::Count),
        Column::sometimes("version", ColumnKind::Count),
        Column::always("outcome", ColumnKind::Text),
        Column::sometimes("reason", ColumnKind::Text),
        Column::always("virtual_seconds", ColumnKind::Number),
        Column::always("duration_seconds", ColumnKind::Number),
        Column::always("drawn", ColumnKind::Count),
        Column::always("reported", ColumnKind::Count),
        Column::always("dropped", ColumnKind::Count),
        Column::sometimes("staleness_mean", ColumnKind::Number),
        Column::sometimes("staleness_max", ColumnKind::Count),
        Column::always("bytes_down", ColumnKind::Count),
        Column::always("bytes_up", ColumnKind::Count),
        Column::always("client_rounds", ColumnKind::Count),
        Column::sometimes("update_norm_median", ColumnKind::Number),
        Column::sometimes("clipping_norm", ColumnKind::Number),
        Column::sometimes("train_loss", ColumnKind::Number),
        Column::sometimes("train_accuracy", ColumnKind::Number),
        Column::sometimes("held_out_loss", ColumnKind::Number),
        Column::sometimes("held_out_metric", ColumnKind::Number),
        Column::sometimes("fine_tuned_loss", ColumnKind::Number),
        Column::sometimes("fine_tuned_metric", ColumnKind::Number),
        Column::sometimes("client_metric_mean", ColumnKind::Number),
        Column::sometimes("client_metric_deviation", ColumnKind::Number),
        Column::sometimes("client_metric_worst_tenth", ColumnKind::Number),
        Column::sometimes("client_metric_best_tenth", ColumnKind::Number),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            self.round_number.into(),
            self.version.into(),
            self.outcome.name().into(),
            self.reason.as_deref().into(),
            self.virtual_seconds.into(),
            self.duration_seconds.into(),
            self.drawn.into(),
            self.reported.into(),
            self.dropped.into(),
            self.staleness_mean.into(),
            self.staleness_max.into(),
            self.bytes_down.into(),
            self.bytes_up.into(),
            self.client_rounds.into(),
            self.update_norm_median.into(),
            self.clipping_norm.into(),
            self.train_loss.into(),
            self.train_accuracy.into(),
            self.held_out_loss.into(),
            self.held_out_metric.into(),
            self.fine_tuned_loss.into(),
            self.fine_tuned_metric.into(),
            self.client_metric_mean.into(),
            self.client_metric_deviation.into(),
            self.client_metric_worst_tenth.into(),
            self.client_metric_best_tenth.into(),
        ]
    }
}
