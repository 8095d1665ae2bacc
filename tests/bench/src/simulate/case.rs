//! What is simulated: sizes only, so that it can be handed to another process.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, onnx::build};
use folkmoot_simulation::simulate::{SyntheticData, WorldSettings};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;

/// Numbers of an example, and classes: those of MNIST (LeCun et al. 1998).
pub const FEATURES: usize = 784;
/// Classes.
pub const CLASSES: usize = 10;
/// Of local SGD.
pub const LEARNING_RATE: f64 = 0.05;
const SEED: u64 = 1;
/// Virtual seconds: a day, so that a round waits for its whole cohort instead of being abandoned.
const SELECTION_DEADLINE_SECONDS: u64 = 86_400;
/// The fewest examples that `mnist_like` makes: one of each class.
const EXAMPLES_MIN: usize = CLASSES;

/// A simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// How it is called in the table.
    pub name: String,
    /// Widths of the model's hidden layers; none is logistic regression.
    pub hidden: Vec<usize>,
    /// Virtual clients.
    pub clients: usize,
    /// Updates that a round wants, and clients that it draws.
    pub cohort: u64,
    /// Rounds.
    pub rounds: u64,
    /// Examples that each client holds.
    pub examples_per_client: usize,
    /// Examples of a local step.
    pub batch_size: u32,
    /// Threads that train.
    pub threads: usize,
}

impl Case {
    /// Logistic regression with one local epoch in batches of 10.
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

    /// The same with one client, which shows what does not grow with the number of clients.
    pub fn of_one_client(&self) -> Self {
        Self { name: format!("{}, one client", self.name), clients: 1, cohort: 1, ..self.clone() }
    }

    /// Local steps of a client in a round.
    pub fn steps(&self) -> u64 {
        (self.examples_per_client as u64).div_ceil(u64::from(self.batch_size))
    }

    /// Bytes of a client's examples.
    pub fn example_bytes(&self) -> u64 {
        (self.examples_per_client * (FEATURES + 1) * size_of::<f32>()) as u64
    }

    /// The model as an ONNX file.
    pub fn onnx(&self) -> Vec<u8> {
        build::mlp(&[&[FEATURES], self.hidden.as_slice(), &[CLASSES]].concat(), SEED)
    }

    /// Makes all examples.
    ///
    /// # Errors
    /// Returns why they cannot be made.
    pub fn examples(&self) -> Result<Examples, Failure> {
        let count = (self.clients * self.examples_per_client).max(EXAMPLES_MIN);
        let made: SyntheticData =
            serde_json::from_value(json!({ "kind": "mnist_like", "examples": count, "clients": 1 }))?;
        Ok(made.make(SEED)?.examples)
    }

    /// The task: synchronous rounds of whole cohorts without over-selection, so that every round is the same work and
    /// every client that trains also counts.
    ///
    /// # Errors
    /// Returns why it is no description.
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

    /// The world: fair samples, everything else as it is by default.
    ///
    /// # Errors
    /// Returns why they are no settings.
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
