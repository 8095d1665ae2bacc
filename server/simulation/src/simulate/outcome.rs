use std::sync::Arc;

use folkmoot_coordinator::task::TaskState;

use crate::{contributions::Contributions, record::RoundRow};

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A row for each finished round.
    pub rounds: Vec<RoundRow>,
    /// The number of the newest version.
    pub version: u64,
    /// All weights of the model in that version. With clusters, the weights of the cluster with the most clients.
    pub weights: Vec<f32>,
    /// All weights of each cluster's model in that version. Empty if there is one model.
    pub clusters: Vec<Arc<Vec<f32>>>,
    /// The number of clients in the world.
    pub clients: usize,
    /// The metric of each client on its own held-out examples, in the last version that was measured. It is empty if the clients do
    /// not measure. Values that are not finite are left out.
    pub client_metrics: Vec<f64>,
    /// The contributions of the clients; `None` unless the world asks for them.
    pub contributions: Option<Contributions>,
    /// The state of the task at the end.
    pub state: TaskState,
    /// The number of virtual seconds that passed.
    pub virtual_seconds: f64,
    /// The number of events.
    pub events: u64,
    /// The number of check-ins.
    pub check_ins: u64,
    /// The number of trainings.
    pub client_rounds: u64,
    /// The number of crashes of the coordinator.
    pub crashes: u64,
}

impl Outcome {
    /// Returns the last value of the held-out metric; `None` if it was never measured.
    pub fn last_metric(&self) -> Option<f64> {
        self.rounds.iter().rev().find_map(|row| row.held_out_metric)
    }

    /// Returns the virtual seconds until the held-out metric was first `target` or more; `None` if it never was.
    pub fn seconds_to(&self, target: f64) -> Option<f64> {
        let reached = |row: &&RoundRow| row.held_out_metric.is_some_and(|value| value >= target);
        self.rounds.iter().find(reached).map(|row| row.virtual_seconds)
    }
}
