use std::sync::Arc;

use folkmoot_aggregation::{Combination, Measured, Measurement};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::RoundId;
use folkmoot_storage::AcceptedUpdate;

use crate::{
    MakeError,
    ingest::{Ingest, RoundSum},
};

/// The final factors of the updates of a closed round that were summed while they arrived.
pub struct Weighed {
    /// The sum as the updates have arrived, closed.
    pub sum: Arc<RoundSum>,
    /// The factor of each update, in the order of the updates.
    pub factors: Vec<f64>,
    /// The divisor of the mean.
    pub divisor: f64,
}

impl Weighed {
    /// Closes the sum of a round and weighs its updates. `attenuations` discounts each update in `accepted`.
    ///
    /// # Errors
    /// Fails if the round log cannot be read.
    pub fn of(
        ingest: &Ingest,
        description: &TaskDescription,
        round: RoundId,
        (accepted, attenuations): (&[AcceptedUpdate], &[f64]),
        parameter_count: usize,
    ) -> Result<Self, MakeError> {
        let measurement = description.aggregator.measurement();
        let sum = ingest.sum_of(round, description.grid, parameter_count, measurement);
        let measured = match measurement {
            Measurement::Extents => Measured::Extents(sum.measure(ingest.log(), accepted)?),
            _ => Measured::None,
        };
        let weights: Vec<u64> = accepted.iter().map(|update| update.weight).collect();
        let combination = description.aggregator.combination(&weights, attenuations, &measured);
        let Combination::Mean { factors, divisor } = combination else {
            unreachable!("only means are summed while updates arrive")
        };
        Ok(Self { sum, factors, divisor })
    }
}
