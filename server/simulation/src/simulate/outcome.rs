use folkmoot_coordinator::task::TaskState;

use crate::record::RoundRow;

/// What came of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A row for each round that is over.
    pub rounds: Vec<RoundRow>,
    /// The newest version.
    pub version: u64,
    /// All weights of the model as they are in it.
    pub weights: Vec<f32>,
    /// Where the task stands.
    pub state: TaskState,
    /// Virtual seconds that passed.
    pub virtual_seconds: f64,
    /// Events that happened.
    pub events: u64,
    /// Check-ins that were made.
    pub check_ins: u64,
    /// Trainings that were done.
    pub client_rounds: u64,
    /// Times that the coordinator crashed.
    pub crashes: u64,
}

impl Outcome {
    /// Returns the last value of the held-out metric.
    pub fn last_metric(&self) -> Option<f64> {
        self.rounds.iter().rev().find_map(|row| row.held_out_metric)
    }

    /// Returns the virtual seconds until the held-out metric was first `target` or more.
    pub fn seconds_to(&self, target: f64) -> Option<f64> {
        let reached = |row: &&RoundRow| row.held_out_metric.is_some_and(|value| value >= target);
        self.rounds.iter().find(reached).map(|row| row.virtual_seconds)
    }
}
