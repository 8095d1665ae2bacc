//! The passes over all updates that rules need before they combine them.

use folkmoot_protocol::Fault;

use super::{
    AggregatorChoice, Averages, Combination, LocalTraining, Measured, Measurement, Preparation, Residuals,
};

/// The maximum number of iterations of a rule. Each one reads all updates of the round.
const ITERATIONS_MAX: u32 = 32;

impl AggregatorChoice {
    /// Returns the number of times that all updates are read before they can be combined.
    pub fn passes(&self, preparation: Preparation) -> u32 {
        let measurements = u32::from(self.measurement() != Measurement::None);
        preparation.passes() + measurements + self.aggregator().refinements()
    }

    /// Measures all updates as often as the choice needs, and returns the rule that combines them. With a preparation, the choice
    /// applies to mixed updates or to buckets.
    ///
    /// `measure` adds all tiles to the measurement that it gets, in the order of the parameters. It is called
    /// [`AggregatorChoice::passes`] times. `weights` and `attenuations` are those of
    /// [`AggregatorChoice::combination`], and `training` has a loss for each update. `seed` decides all random choices. Clients
    /// should not know it before they send their updates.
    ///
    /// # Errors
    /// Returns the first error of `measure`.
    pub fn measured_combination<E>(
        &self,
        preparation: Preparation,
        seed: u64,
        weights: &[u64],
        attenuations: &[f64],
        training: &LocalTraining,
        mut measure: impl FnMut(&mut Measured) -> Result<(), E>,
    ) -> Result<Combination, E> {
        let averages = match preparation {
            Preparation::None => None,
            Preparation::Mixing(mixing) => {
                let mut measured = Measured::new(Measurement::Distances, weights.len(), seed);
                measure(&mut measured)?;
                Some(mixing.neighbourhoods(measured.distances()))
            }
            Preparation::Bucketing(bucketing) => Some(bucketing.buckets(weights.len(), seed)),
        };
        let mut pass = |measured: Measured| {
            let mut measured = match &averages {
                Some(averages) => Measured::Averaged(averages.clone(), Box::new(measured)),
                None => measured,
            };
            measure(&mut measured).map(|()| measured.unaveraged())
        };
        let rule = preparation.rule(self);
        let count = averages.as_ref().map_or(weights.len(), Averages::count);
        let combination = if count == weights.len() {
            rule.unprepared_combination(seed, weights, attenuations, training, &mut pass)?
        } else {
            // Buckets have no weights of their own.
            rule.unprepared_combination(seed, &vec![1; count], &vec![1.0; count], training, &mut pass)?
        };
        Ok(match averages {
            Some(averages) => Combination::Averaged(averages, Box::new(combination)),
            None => combination,
        })
    }

    /// Measures all updates and returns the rule that combines them, without a preparation. `pass` fills a measurement.
    fn unprepared_combination<E>(
        &self,
        seed: u64,
        weights: &[u64],
        attenuations: &[f64],
        training: &LocalTraining,
        pass: &mut dyn FnMut(Measured) -> Result<Measured, E>,
    ) -> Result<Combination, E> {
        let (aggregator, updates) = (self.aggregator(), weights.len());
        let measured = match aggregator.measurement() {
            Measurement::None => Measured::None,
            measurement => pass(Measured::new(measurement, updates, seed))?,
        };
        let mut combination = match aggregator.loss_factors(weights, training, &measured) {
            Some(factors) => {
                let both = factors.iter().zip(attenuations).map(|(factor, attenuation)| factor * attenuation);
                aggregator.combination(weights, &both.collect::<Vec<f64>>(), &measured)
            }
            None => aggregator.combination(weights, attenuations, &measured),
        };
        for _ in 0..aggregator.refinements() {
            let measured = pass(Measured::Residuals(Residuals::new(combination, updates)))?;
            combination = aggregator.refine(measured.residuals());
        }
        let deviation = aggregator.noise(&measured);
        if deviation > 0.0 {
            combination = Combination::Noised { combination: Box::new(combination), deviation, seed };
        }
        Ok(combination)
    }

    /// Combines updates that fit into one tile.
    #[cfg(test)]
    pub(super) fn combine_whole(&self, weights: &[u64], rows: &[&[f32]]) -> Vec<f64> {
        self.combine_prepared(Preparation::None, 1, weights, rows)
    }

    /// Prepares and combines updates that fit into one tile.
    #[cfg(test)]
    pub(super) fn combine_prepared(
        &self,
        preparation: Preparation,
        seed: u64,
        weights: &[u64],
        rows: &[&[f32]],
    ) -> Vec<f64> {
        let attenuations = vec![1.0; rows.len()];
        let training = LocalTraining::default();
        let combination =
            self.measured_combination(preparation, seed, weights, &attenuations, &training, |measured| {
                measured.add_tile(rows);
                Ok::<_, std::convert::Infallible>(())
            });
        let mut out = vec![f64::NAN; rows.first().map_or(0, |row| row.len())];
        combination.expect("measuring cannot fail").combine(0, rows, &mut out);
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
