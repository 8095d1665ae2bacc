use super::Metric;
use crate::{
    record::{RoundOutcome, RoundRow},
    spread::Fairness,
};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of rounds that released a version.
    pub committed: u64,
    /// The number of rounds that were abandoned.
    pub abandoned: u64,
    /// The number of virtual seconds until the end of the last round.
    pub virtual_seconds: f64,
    /// The last measured value of the metric.
    pub last_metric: Option<f64>,
    /// The best measured value of the metric.
    pub best_metric: Option<f64>,
    /// When the target was first reached; `None` without a target, or if it was never reached.
    pub reached: Option<Reached>,
    /// The number of bytes sent to the clients.
    pub bytes_down: f64,
    /// The number of bytes sent from the clients.
    pub bytes_up: f64,
    /// The number of trainings that clients started.
    pub client_rounds: f64,
    /// The share of the drawn clients that dropped out.
    pub dropped_share: Option<f64>,
    /// The mean staleness of the accepted updates, in versions.
    pub staleness_mean: Option<f64>,
    /// The maximum staleness, in versions.
    pub staleness_max: Option<u64>,
    /// The spread among the clients of the last version that they measured; `None` if they do not measure.
    pub fairness: Option<Fairness>,
}

/// The moment at which a target was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The round's number.
    pub round_number: u64,
    /// The number of virtual seconds until the end of the round.
    pub virtual_seconds: f64,
    /// The number of bytes sent to and from the clients until the end of the round.
    pub bytes: f64,
}

impl Summary {
    /// Summarises the rounds of a run. The target is reached when the metric is at least as good as the target.
    pub fn of(rounds: &[RoundRow], metric: &Metric, target: Option<f64>) -> Self {
        let mut summary = Summary::default();
        let (mut drawn, mut dropped, mut reported, mut staleness) = (0.0, 0.0, 0.0, 0.0);
        for row in rounds {
            match row.outcome {
                RoundOutcome::Committed => summary.committed += 1,
                RoundOutcome::Abandoned => summary.abandoned += 1,
            }
            summary.virtual_seconds = row.virtual_seconds;
            summary.bytes_down += row.bytes_down as f64;
            summary.bytes_up += row.bytes_up as f64;
            summary.client_rounds += row.client_rounds as f64;
            drawn += row.drawn as f64;
            dropped += row.dropped as f64;
            if let Some(mean) = row.staleness_mean {
                staleness += mean * row.reported as f64;
                reported += row.reported as f64;
            }
            summary.staleness_max = summary.staleness_max.max(row.staleness_max);
            summary.fairness = row.fairness().or(summary.fairness);
            let Some(value) = row.held_out_metric.filter(|value| !value.is_nan()) else { continue };
            summary.last_metric = Some(value);
            if summary.best_metric.is_none_or(|best| metric.is_better(value, best)) {
                summary.best_metric = Some(value);
            }
            let is_reached = target.is_some_and(|target| value == target || metric.is_better(value, target));
            if is_reached && summary.reached.is_none() {
                summary.reached = Some(Reached {
                    round_number: row.round_number,
                    virtual_seconds: row.virtual_seconds,
                    bytes: summary.bytes_down + summary.bytes_up,
                });
            }
        }
        summary.dropped_share = (drawn > 0.0).then(|| dropped / drawn);
        summary.staleness_mean = (reported > 0.0).then(|| staleness / reported);
        summary
    }
}

impl Metric {
    /// Returns whether `a` is better than `b`.
    pub(super) fn is_better(&self, a: f64, b: f64) -> bool {
        if self.is_larger_better { a > b } else { a < b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(metrics: &[Option<f64>]) -> Vec<RoundRow> {
        let row = |(index, metric): (usize, &Option<f64>)| RoundRow {
            round_number: index as u64 + 1,
            outcome: if metric.is_some() { RoundOutcome::Committed } else { RoundOutcome::Abandoned },
            virtual_seconds: 10.0 * (index + 1) as f64,
            drawn: 10,
            dropped: index as u64,
            reported: 2 * index as u64,
            staleness_mean: Some(index as f64),
            staleness_max: Some(2 * index as u64),
            bytes_down: 100,
            bytes_up: 50,
            client_rounds: 9,
            held_out_metric: *metric,
            ..RoundRow::default()
        };
        metrics.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_run_is_summed_up() {
        let summary =
            Summary::of(&run(&[Some(0.2), None, Some(0.9), Some(0.8)]), &Metric::default(), Some(0.8));
        let expected = Summary {
            committed: 3,
            abandoned: 1,
            virtual_seconds: 40.0,
            last_metric: Some(0.8),
            best_metric: Some(0.9),
            reached: Some(Reached { round_number: 3, virtual_seconds: 30.0, bytes: 450.0 }),
            bytes_down: 400.0,
            bytes_up: 200.0,
            client_rounds: 36.0,
            dropped_share: Some(0.15),
            // The mean over the accepted updates: (0·0 + 2·1 + 4·2 + 6·3) / 12.
            staleness_mean: Some(28.0 / 12.0),
            staleness_max: Some(6),
            fairness: None,
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn a_metric_of_which_less_is_better_is_best_when_least() {
        let metric = Metric { name: "error".into(), is_share: false, is_larger_better: false };
        let summary =
            Summary::of(&run(&[Some(3.0), Some(f64::NAN), Some(1.0), Some(2.0)]), &metric, Some(2.5));
        assert_eq!((summary.best_metric, summary.last_metric), (Some(1.0), Some(2.0)));
        assert_eq!(summary.reached.map(|reached| reached.round_number), Some(3));
        assert_eq!(Summary::of(&[], &metric, None), Summary::default());
    }
}
