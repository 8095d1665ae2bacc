//! The passes over all updates that rules need before they combine them.

use folkmoot_protocol::Fault;

use super::{AggregatorChoice, Combination, Measured, Measurement, Residuals};

/// The maximum number of iterations of a rule. Each one reads all updates of the round.
const ITERATIONS_MAX: u32 = 32;

impl AggregatorChoice {
    /// Returns the number of times that all updates are read before they can be combined.
    pub fn passes(&self) -> u32 {
        u32::from(self.measurement() != Measurement::None) + self.aggregator().refinements()
    }

    /// Measures all updates as often as the choice needs, and returns the rule that combines them.
    ///
    /// `measure` adds all tiles to the measurement that it gets, in the order of the parameters. It is called
    /// [`AggregatorChoice::passes`] times. `weights` and `attenuations` are those of
    /// [`AggregatorChoice::combination`].
    ///
    /// # Errors
    /// Returns the first error of `measure`.
    pub fn measured_combination<E>(
        &self,
        weights: &[u64],
        attenuations: &[f64],
        mut measure: impl FnMut(&mut Measured) -> Result<(), E>,
    ) -> Result<Combination, E> {
        let aggregator = self.aggregator();
        let mut measured = Measured::new(aggregator.measurement(), weights.len());
        if aggregator.measurement() != Measurement::None {
            measure(&mut measured)?;
        }
        let mut combination = aggregator.combination(weights, attenuations, &measured);
        for _ in 0..aggregator.refinements() {
            measured = Measured::Residuals(Residuals::new(combination, weights.len()));
            measure(&mut measured)?;
            combination = aggregator.refine(measured.residuals());
        }
        Ok(combination)
    }

    /// Combines updates that fit into one tile.
    #[cfg(test)]
    pub(super) fn combine_whole(&self, weights: &[u64], rows: &[&[f32]]) -> Vec<f64> {
        let attenuations = vec![1.0; rows.len()];
        let combination = self.measured_combination(weights, &attenuations, |measured| {
            measured.add_tile(rows);
            Ok::<_, std::convert::Infallible>(())
        });
        let mut out = vec![f64::NAN; rows.first().map_or(0, |row| row.len())];
        combination.expect("measuring cannot fail").combine(rows, &mut out);
        out
    }
}

/// Records a fault if a rule has no iterations, or too many.
pub(super) fn expect_iterations(iterations: u32, faults: &mut Vec<Fault>) {
    if !(1..=ITERATIONS_MAX).contains(&iterations) {
        let remedy = format!(
            "it must be 1 to {ITERATIONS_MAX}, because each iteration reads all updates; use 3 or 4 for most tasks"
        );
        faults.push(Fault::new("aggregator.iterations", format!("it is {iterations}"), remedy));
    }
}
