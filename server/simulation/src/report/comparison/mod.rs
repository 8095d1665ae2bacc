//! The report of a comparison: variants of a task, each run with the same seeds.

mod charts;
mod curve;
mod measure;
mod page;
mod pareto;
mod shown;
mod summary;
#[cfg(test)]
mod tests;

pub use measure::Measure;
pub use shown::Shown;
pub use summary::VariantSummary;

use serde::Serialize;

use super::Metric;
use crate::{record::RoundRow, spread::Spread};

/// The target without a choice, as a share of the best variant's final value.
const TARGET_SHARE: f64 = 0.9;

/// The input of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The title of the report.
    pub title: String,
    /// The metric that is measured on the held-out examples.
    pub metric: Metric,
    /// A value of the metric to reach. If it is `None`, the target is 90 % of the best variant's final value.
    pub target: Option<f64>,
    /// The seeds. Every variant has one run for each of them, in this order.
    pub seeds: Vec<u64>,
    /// The variants, 1 to [`super::RUNS_MAX`].
    pub variants: Vec<Variant>,
    /// The index of the variant with which the others are compared.
    pub baseline: usize,
    /// The variants that do not fit the task, which were not run.
    pub left_out: Vec<LeftOut>,
}

/// A variant that does not fit the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The name of the variant.
    pub variant: String,
    /// Each fault with its remedy.
    pub reasons: Vec<String>,
}

/// A variant of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variant {
    /// A name that distinguishes the variant from the others.
    pub name: String,
    /// The settings in which the variants differ, in display order.
    pub settings: Vec<(String, String)>,
    /// The run of each seed.
    pub runs: Vec<SeedRun>,
}

/// A run with one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeedRun {
    /// The number of clients in the world.
    pub clients: usize,
    /// The metric of each client in the last version that was measured; empty if the clients do not measure.
    pub client_metrics: Vec<f64>,
    /// True if the coordinator has paused the task because it failed too often.
    pub is_paused: bool,
    /// The rounds, in order.
    pub rounds: Vec<RoundRow>,
}

impl Comparison {
    /// Returns the value of the metric to reach; `None` if there is no choice and no variant has a final value.
    ///
    /// Without a choice, the target of a metric of which less is better is the best final value divided by 0.9.
    pub fn target(&self) -> Option<f64> {
        self.target.or_else(|| {
            let finals = self.variants.iter().filter_map(|variant| {
                let values = variant.runs.iter().map(|run| self.last_metric(&run.rounds));
                Some(Spread::of(&values.collect::<Option<Vec<f64>>>()?)?.mean)
            });
            let best = finals.reduce(|a, b| if self.metric.is_better(a, b) { a } else { b })?;
            Some(if self.metric.is_larger_better { best * TARGET_SHARE } else { best / TARGET_SHARE })
        })
    }

    /// Summarises every variant over its seeds.
    pub fn summaries(&self) -> Vec<VariantSummary> {
        let target = self.target();
        let baseline = self.variants.get(self.baseline);
        let summary = |(index, variant): (usize, &Variant)| {
            let baseline = baseline.filter(|_| index != self.baseline);
            VariantSummary::of(variant, baseline, &self.metric, target)
        };
        let mut summaries: Vec<VariantSummary> = self.variants.iter().enumerate().map(summary).collect();
        let places: Vec<_> = summaries.iter().map(VariantSummary::place).collect();
        let optimal = pareto::optimal(&places, self.metric.is_larger_better);
        for (summary, optimal) in summaries.iter_mut().zip(optimal) {
            summary.is_pareto_optimal = optimal;
        }
        summaries
    }

    fn last_metric(&self, rounds: &[RoundRow]) -> Option<f64> {
        super::Summary::of(rounds, &self.metric, None).last_metric
    }
}
