//! The simulated cases. A case consists only of sizes, so that it can be passed to another process.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, onnx::build};
use folkmoot_simulation::simulate::{SyntheticData, WorldSettings};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;

/// The number of features of an example, as in MNIST (LeCun et al. 1998).
pub const FEATURES: usize = 784;
/// The number of classes, as in MNIST.
pub const CLASSES: usize = 10;
/// The learning rate of local SGD.
pub const LEARNING_RATE: f64 = 0.05;
const SEED: u64 = 1;
/// The selection deadline in virtual seconds: one day. So a round waits for its whole cohort and is not abandoned.
const SELECTION_DEADLINE_SECONDS: u64 = 86_400;
/// The minimum number of examples that `mnist_like` generates: one for each class.
const EXAMPLES_MIN: usize = CLASSES;

/// A simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The name in the table.
    pub name: String,
    /// The widths of the model's hidden layers; empty for logistic regression.
    pub hidden: Vec<usize>,
    /// The number of virtual clients.
    pub clients: usize,
    /// The number of clients that a round draws, and its report goal: it waits for all of them.
    pub cohort: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of examples of each client.
    pub examples_per_client: usize,
    /// The number of examples in a local step.
    pub batch_size: u32,
    /// The number of training threads.
    pub threads: usize,
}

impl Case {
    /// Returns a case of logistic regression with one local epoch in batches of 10.
    pub fn logistic_regression(name: &str, clients: usize, cohort: u64, rounds: u64) -> Self {
        Self {
            name: name.to_owned(),
            hidden: Vec::new(),
            clients,
            cohort,
            rounds,
            examples_per_client: 10,
            batch_size: 10,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Returns the same case with one client. It measures the memory that does not depend on the number of clients.
    pub fn of_one_client(&self) -> Self {
        Self { name: format!("{}, one client", self.name), clients: 1, cohort: 1, ..self.clone() }
    }

    /// Returns the number of local steps of a client in a round.
    pub fn steps(&self) -> u64 {
        (self.examples_per_client as u64).div_ceil(u64::from(self.batch_size))
    }

    /// Returns the number of bytes of a client's examples.
    pub fn example_bytes(&self) -> u64 {
        (self.examples_per_client * (FEATURES + 1) * size_of::<f32>()) as u64
    }

    /// Returns the model as an ONNX file.
    pub fn onnx(&self) -> Vec<u8> {
        build::mlp(&[&[FEATURES], self.hidden.as_slice(), &[CLASSES]].concat(), SEED)
    }

    /// Generates all examples.
    ///
    /// # Errors
    /// Fails if the sizes are invalid.
    pub fn examples(&self) -> Result<Examples, Failure> {
        let count = (self.clients * self.examples_per_client).max(EXAMPLES_MIN);
        let made: SyntheticData =
            serde_json::from_value(json!({ "kind": "mnist_like", "examples": count, "clients": 1 }))?;
        Ok(made.make(SEED)?.examples)
    }

    /// Returns the task's description. Its synchronous rounds wait for the whole cohort and have no over-selection. So
    /// every round is the same amount of work, and every trained update is accepted.
    ///
    /// # Errors
    /// Fails if the description is invalid.
    pub fn description(&self) -> Result<TaskDescription, Failure> {
        Ok(serde_json::from_value(json!({
            "name": "bench",
            "population": "bench",
            "plan": {
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": LEARNING_RATE } },
                "epochs": 1, "batch_size": self.batch_size,
            },
            "scheduling": {
                "kind": "synchronous", "report_goal": self.cohort, "over_selection_factor": 1.0,
                "minimum_cohort": self.cohort, "selection_deadline_seconds": SELECTION_DEADLINE_SECONDS,
            },
            "stop": { "rounds": self.rounds },
        }))?)
    }

    /// Returns the world's settings: independent and identically distributed (IID) samples, and defaults for everything
    /// else.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn settings(&self) -> Result<WorldSettings, Failure> {
        let settings = json!({ "clients": self.clients, "seed": SEED, "held_out_share": 0.0 });
        Ok(serde_json::from_value(settings)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_a_right_task_with_a_model_of_its_size() {
        let case = Case::logistic_regression("a", 3, 2, 4);
        assert_eq!(case.description().unwrap().validate(), []);
        case.settings().unwrap().validate().unwrap();
        assert_eq!(case.examples().unwrap().len(), 30);
        let limits = folkmoot_engine::ImportLimits::default();
        let weights = |case: &Case| {
            folkmoot_engine::Model::from_onnx(&case.onnx(), &limits).unwrap().initial_weights().len()
        };
        assert_eq!(weights(&case), 7850);
        assert_eq!(weights(&Case { hidden: vec![200, 200], ..case }), 199_210);
    }

    #[test]
    fn the_last_batch_may_be_smaller() {
        let case = Case { examples_per_client: 61, ..Case::logistic_regression("b", 1, 1, 1) };
        assert_eq!(case.steps(), 7);
        assert_eq!(Case { examples_per_client: 60, ..case }.steps(), 6);
    }
}
