use serde::{Deserialize, Serialize};

use crate::{record::RoundRow, report::SeedRun};

/// A finished run as it is saved, so that a comparison can be resumed.
///
/// A number that is infinite or NaN is saved as a missing value. A run that was just made and one that was read from its
/// file give the same report, because both are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishedRun {
    /// The key of the simulation; see [`super::run_key`].
    pub key: String,
    /// The number of clients in the world.
    pub clients: usize,
    /// The metric of each client in the last version that was measured; empty if the clients do not measure.
    pub client_metrics: Vec<f64>,
    /// The state of the task at the end, for people.
    pub state: String,
    /// True if the coordinator has paused the task because it failed too often.
    pub is_paused: bool,
    /// The rounds, in order.
    pub rounds: Vec<RoundRow>,
}

impl FinishedRun {
    /// Writes the run as JSON.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads a run. `None` if the text is incomplete, or belongs to a simulation with another key.
    pub fn from_json(text: &[u8], key: &str) -> Option<Self> {
        serde_json::from_slice(text).ok().filter(|run: &Self| run.key == key)
    }

    /// Returns the run for the report.
    pub fn into_seed_run(self) -> SeedRun {
        SeedRun {
            clients: self.clients,
            client_metrics: self.client_metrics,
            is_paused: self.is_paused,
            rounds: self.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_its_key_only_and_only_whole() {
        let row = RoundRow {
            round_number: 3,
            virtual_seconds: 0.1 + 0.2,
            held_out_metric: Some(1.0 / 3.0),
            held_out_loss: Some(f64::INFINITY),
            ..RoundRow::default()
        };
        let run = FinishedRun {
            key: "a".into(),
            clients: 30,
            client_metrics: vec![0.1 + 0.2, 1.0 / 3.0],
            state: "completed".into(),
            is_paused: false,
            rounds: vec![row.clone()],
        };
        let json = run.to_json().unwrap();
        let read = FinishedRun::from_json(json.as_bytes(), "a").unwrap();
        let expected = RoundRow { held_out_loss: None, ..row };
        assert_eq!(read.rounds, [expected], "JSON has no infinity");
        assert_eq!(FinishedRun::from_json(read.to_json().unwrap().as_bytes(), "a"), Some(read));
        assert_eq!(FinishedRun::from_json(json.as_bytes(), "b"), None);
        assert_eq!(FinishedRun::from_json(&json.as_bytes()[..json.len() - 1], "a"), None);
    }
}
