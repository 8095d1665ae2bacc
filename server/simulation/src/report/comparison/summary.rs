use serde::Serialize;

use super::{Measure, SeedRun, Variant, pareto::Place};
use crate::{
    report::{Metric, Summary},
    spread::Fairness,
};

/// The result of a variant over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantSummary {
    /// The variant's name.
    pub variant: String,
    /// The last measured value of the metric.
    pub final_metric: Measure,
    /// The best measured value of the metric.
    pub best_metric: Measure,
    /// The final value minus the baseline's final value with the same seed; `None` for the baseline.
    pub difference: Option<Measure>,
    /// The mean of the clients' own values of the metric, in the last version that they measured. Every client counts the same.
    pub client_mean: Measure,
    /// The mean over the tenth of the clients with the worst values.
    pub worst_tenth: Measure,
    /// The mean over the tenth of the clients with the best values.
    pub best_tenth: Measure,
    /// The standard deviation of the clients' own values.
    pub client_deviation: Measure,
    /// True if no other variant is at least as good in `client_mean` and in `worst_tenth`, and better in one of them; `None` if the
    /// clients do not measure with every seed.
    pub is_pareto_optimal: Option<bool>,
    /// The round in which the target was reached.
    pub rounds_to_target: Measure,
    /// The number of virtual seconds until the target was reached.
    pub seconds_to_target: Measure,
    /// The number of bytes sent to and from all clients until the target was reached.
    pub bytes_to_target: Measure,
    /// The number of virtual seconds of the whole run.
    pub virtual_seconds: Measure,
    /// The number of bytes sent to the clients, divided by the number of clients in the world.
    pub bytes_down_per_client: Measure,
    /// The number of bytes sent from the clients, divided by the number of clients in the world.
    pub bytes_up_per_client: Measure,
    /// The number of rounds that released a version.
    pub committed: Measure,
    /// The number of rounds that were abandoned.
    pub abandoned: Measure,
    /// The share of the drawn clients that dropped out.
    pub dropped_share: Measure,
    /// The number of seeds with which the coordinator paused the task because it failed too often.
    pub paused_seeds: usize,
}

impl VariantSummary {
    /// Returns the mean over the clients and over the worst tenth of them; `None` if the clients do not measure with every seed.
    pub(super) fn place(&self) -> Option<Place> {
        let place = (self.client_mean.mean?, self.worst_tenth.mean?);
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    pub(super) fn of(
        variant: &Variant,
        baseline: Option<&Variant>,
        metric: &Metric,
        target: Option<f64>,
    ) -> Self {
        let summarise = |run: &SeedRun| Summary::of(&run.rounds, metric, target);
        let runs: Vec<(&SeedRun, Summary)> = variant.runs.iter().map(|run| (run, summarise(run))).collect();
        let measure = |value: &dyn Fn(&Summary) -> Option<f64>| {
            Measure::of(runs.iter().map(|(_, summary)| value(summary)))
        };
        let per_client = |bytes: &dyn Fn(&Summary) -> f64| {
            Measure::of(runs.iter().map(|(run, summary)| Some(bytes(summary) / (run.clients.max(1) as f64))))
        };
        let among = |value: fn(Fairness) -> f64| measure(&|summary| summary.fairness.map(value));
        let final_metric = measure(&|summary| summary.last_metric);
        let difference = baseline.map(|baseline| {
            let others = baseline.runs.iter().map(|run| summarise(run).last_metric);
            final_metric.minus(&Measure::of(others))
        });
        Self {
            variant: variant.name.clone(),
            difference,
            final_metric,
            best_metric: measure(&|summary| summary.best_metric),
            client_mean: among(|fairness| fairness.mean),
            worst_tenth: among(|fairness| fairness.worst_tenth),
            best_tenth: among(|fairness| fairness.best_tenth),
            client_deviation: among(|fairness| fairness.deviation),
            is_pareto_optimal: None,
            rounds_to_target: measure(&|summary| Some(summary.reached?.round_number as f64)),
            seconds_to_target: measure(&|summary| Some(summary.reached?.virtual_seconds)),
            bytes_to_target: measure(&|summary| Some(summary.reached?.bytes)),
            virtual_seconds: measure(&|summary| Some(summary.virtual_seconds)),
            bytes_down_per_client: per_client(&|summary| summary.bytes_down),
            bytes_up_per_client: per_client(&|summary| summary.bytes_up),
            committed: measure(&|summary| Some(summary.committed as f64)),
            abandoned: measure(&|summary| Some(summary.abandoned as f64)),
            dropped_share: measure(&|summary| summary.dropped_share),
            paused_seeds: variant.runs.iter().filter(|run| run.is_paused).count(),
        }
    }
}
