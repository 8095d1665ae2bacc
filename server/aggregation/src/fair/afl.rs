use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::MixtureWeights;
use crate::{Combination, Measured, aggregator::Aggregator, local_training::expect_several};

/// The maximum number of clients whose mixture weights are kept.
const CLIENTS_MAX: u64 = 4096;

/// AFL, agnostic federated learning: a mean whose weights rise for the clients with a large loss, from version to version, so that the
/// model serves the worst mixture of the clients' data.
///
/// Mohri, Sivek and Suresh 2019, "Agnostic federated learning", algorithm 1 (Stochastic-AFL), with each client as a domain and the whole
/// simplex as Λ. The aggregate is Σ λᵢ·Δᵢ / Σ λᵢ over the updates of the commit. Then λ ← the projection of λ + r·L on the simplex, where L
/// has the mean losses that the clients report, and 0 for clients without an update. λ begins with 1 / `clients` for each, and is kept with the version.
///
/// The loss is the mean over the client's local training, as for q-FedAvg. The number of examples does not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Afl {
    /// The number of clients of the population, 2 to 4096. The coordinator keeps a weight for each client that has sent
    /// an update; clients beyond this number have the weight 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 4096), extend("examples" = [10])))]
    pub clients: u64,
    /// r, the learning rate of the weights, above 0. The weights begin with 1 / `clients`, so r times the differences between losses should be
    /// well below that.
    #[serde(default = "default_learning_rate")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub learning_rate: f64,
}

fn default_learning_rate() -> f64 {
    0.01
}

impl Afl {
    /// Returns the weights before the first version.
    pub fn begin(&self) -> MixtureWeights {
        MixtureWeights::uniform(self.clients)
    }
}

impl Aggregator for Afl {
    fn combination(&self, weights: &[u64], attenuations: &[f64], _measured: &Measured) -> Combination {
        debug_assert_eq!(weights.len(), attenuations.len());
        Combination::mean(attenuations.to_vec(), attenuations.iter().sum())
    }

    fn validate(&self, cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !(2..=CLIENTS_MAX).contains(&self.clients) {
            let remedy = format!("it must be 2 to {CLIENTS_MAX}: the number of clients of the population");
            faults.push(Fault::new("aggregator.clients", format!("it is {}", self.clients), remedy));
        }
        if !self.learning_rate.is_finite() || self.learning_rate <= 0.0 {
            let message = format!("it is {}", self.learning_rate);
            faults.push(Fault::new("aggregator.learning_rate", message, "it must be above 0; try 0.01"));
        }
        expect_several(cohort_min, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let fields = |clients, learning_rate, cohort_min| {
            let mut faults = Vec::new();
            Afl { clients, learning_rate }.validate(cohort_min, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!([fields(2, 0.1, 2), fields(4096, 9.0, 5)], [[""; 0]; 2]);
        let all = ["aggregator.clients", "aggregator.learning_rate", "aggregator.kind"];
        assert_eq!([fields(1, 0.0, 1), fields(4097, f64::NAN, 1)], [all; 2]);
    }
}
