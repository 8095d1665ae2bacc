//! The versions that the coordinator would have made of some of the updates of a round, and their metric.

use std::panic::resume_unwind;

use folkmoot_aggregation::{Combination, Measured, finalizer::Commit};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Evaluator, Examples, Travelling};
use folkmoot_protocol::Metric;

use super::coalition::Coalition;

/// The inputs of a version.
pub(crate) struct Reconstruction<'a> {
    /// The task. Its aggregator is a mean.
    pub(crate) description: &'a TaskDescription,
    /// The values of each update, as the coordinator has received them.
    pub(crate) rows: &'a [Vec<f32>],
    /// The weight of each update and the number of its local steps.
    pub(crate) reports: &'a [(u64, u64)],
    /// The values of the version from which the updates started.
    pub(crate) base: &'a [f32],
    /// The finalizer's state with that version; empty if it has none yet.
    pub(crate) state: &'a [f32],
    /// The number of the version that is made.
    pub(crate) number: u64,
}

impl Reconstruction<'_> {
    /// Returns the values of the version that is made of the updates of these clients. Without a client, it is the base.
    fn version(&self, set: &Coalition) -> Vec<f32> {
        let mut values = self.base.to_vec();
        let Ok(finalizer) = self.description.finalizer.finalizer() else { return values };
        if set.len() == 0 {
            return values;
        }
        let mean = self.mean(set);
        let mut state: Vec<Vec<f32>> = match self.state.is_empty() {
            true => (0..finalizer.state_count())
                .map(|slot| vec![finalizer.initial_state(slot); values.len()])
                .collect(),
            false => self.state.chunks(values.len().max(1)).map(<[f32]>::to_vec).collect(),
        };
        let mut slots: Vec<&mut [f32]> = state.iter_mut().map(Vec::as_mut_slice).collect();
        let commit = Commit { number: self.number, updates: set.len() as u64, ..Commit::default() };
        finalizer.advance(&commit, &mut values, &mean, &mut slots);
        values
    }

    /// Returns the mean of the updates of these clients, by the task's rule.
    fn mean(&self, set: &Coalition) -> Vec<f64> {
        let rows: Vec<&[f32]> = set.places().map(|place| self.rows[place].as_slice()).collect();
        let reports = || set.places().map(|place| self.reports[place]);
        let weights: Vec<u64> = reports().map(|(weight, _)| weight).collect();
        let factors = self.description.work_factors(reports());
        let aggregator = &self.description.aggregator;
        let mut measured = Measured::new(aggregator.measurement(), rows.len(), 0);
        measured.add_tile(&rows);
        let combination: Combination = aggregator.combination(&weights, &factors, &measured);
        let mut mean = vec![0.0; self.base.len()];
        combination.combine(0, &rows, &mut mean);
        mean
    }
}

/// Measures models on the held-out examples, on several threads.
pub(crate) struct Measuring<'a> {
    /// An evaluator for each thread; at least one.
    pub(crate) evaluators: &'a mut [Evaluator],
    pub(crate) examples: &'a Examples,
    pub(crate) travelling: &'a Travelling,
    pub(crate) metric: Metric,
}

impl Measuring<'_> {
    /// Returns the utility of each set: the metric of its version, or the negative metric if less is better. NaN if the
    /// metric has no value.
    ///
    /// # Errors
    /// If the examples do not fit the model.
    pub(crate) fn utilities(
        &mut self,
        round: &Reconstruction<'_>,
        sets: &[Coalition],
    ) -> Result<Vec<f64>, String> {
        let (examples, travelling, metric) = (self.examples, self.travelling, self.metric);
        let of_thread = sets.len().div_ceil(self.evaluators.len().max(1)).max(1);
        let measure = |evaluator: &mut Evaluator, sets: &[Coalition]| -> Result<Vec<f64>, String> {
            sets.iter()
                .map(|set| {
                    let weights =
                        travelling.fill(round.version(set), None).map_err(|error| error.to_string())?;
                    utility(evaluator, &weights, examples, metric)
                })
                .collect()
        };
        let measure = &measure;
        let parts: Result<Vec<Vec<f64>>, String> = std::thread::scope(|scope| {
            let running: Vec<_> = sets
                .chunks(of_thread)
                .zip(self.evaluators.iter_mut())
                .map(|(sets, evaluator)| scope.spawn(move || measure(evaluator, sets)))
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        Ok(parts?.concat())
    }
}

fn utility(
    evaluator: &mut Evaluator,
    weights: &[f32],
    examples: &Examples,
    metric: Metric,
) -> Result<f64, String> {
    let value = match metric {
        Metric::Accuracy => evaluator.evaluate(weights, examples).map(|metrics| metrics.accuracy()),
        Metric::Loss => evaluator.evaluate(weights, examples).map(|metrics| metrics.mean_loss()),
        other => evaluator.evaluate_in_detail(weights, examples).map(|evaluation| evaluation.value(other)),
    };
    let value = value.map_err(|error| error.to_string())?.unwrap_or(f64::NAN);
    Ok(if metric.is_higher_better() { value } else { -value })
}
