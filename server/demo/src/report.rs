//! The report of a run.

use folkmoot_protocol::{Codec, update::update_bytes};
use serde::Serialize;

use super::data::DemoModel;

/// One committed round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundReport {
    /// The number of the round, from 1.
    pub round: u64,
    /// The number of selected clients.
    pub cohort: u64,
    /// The number of combined updates.
    pub reports: u64,
    /// The mean training loss of the round's clients. `None` if training is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The epsilon spent up to and including this round. `None` if training is not private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The accuracy of the round's version on the held-out examples, 0 to 1.
    pub accuracy: f64,
    /// The number of bytes of updates that the round's clients sent.
    pub bytes_up: u64,
    /// The number of bytes of plans, models and weights that the round's clients downloaded, without cache hits.
    pub bytes_down: u64,
    /// The seconds from the opening of the round to its commit.
    pub seconds: f64,
}

/// The report of the whole run, written to `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The accuracy of the last version on the held-out examples, 0 to 1.
    pub accuracy: f64,
    /// The accuracy of the untrained model, 0 to 1.
    pub initial_accuracy: f64,
    /// The number of held-out examples.
    pub held_out_examples: usize,
    /// The number of committed rounds.
    pub rounds: u64,
    /// The seconds from the start of the task to the last commit.
    pub seconds: f64,
    /// The number of bytes of updates that clients sent in all rounds.
    pub bytes_up: u64,
    /// The number of bytes that clients downloaded in all rounds.
    pub bytes_down: u64,
    /// The size of the same updates as float32, in bytes.
    pub bytes_up_as_float32: u64,
    /// The number of clients that stopped in the middle of a round. `None` if none should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vanished: Option<u32>,
    /// The settings of the run.
    pub settings: SettingsReport,
    /// The rounds, oldest first.
    pub per_round: Vec<RoundReport>,
}

/// The settings of a run. With them, the run can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SettingsReport {
    /// The model that was trained.
    pub model: DemoModel,
    /// The number of enrolled clients.
    pub clients: u32,
    /// The number of clients that each round selects.
    pub cohort: u32,
    /// The concentration of the Dirichlet split.
    pub alpha: f64,
    /// The seed of the split.
    pub seed: u64,
    /// The privacy budget, if training is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyReport>,
    /// The codec of the updates, if they were compressed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub codec: Option<Codec>,
    /// True if the clients masked their updates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secure_aggregation: bool,
    /// The share of the clients that stop in the middle of a round, if any should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vanish: Option<f64>,
}

fn as_text<S: serde::Serializer>(codec: &Option<Codec>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&codec.map(|codec| codec.to_string()).unwrap_or_default())
}

/// A privacy budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PrivacyReport {
    /// The epsilon that may be spent.
    pub epsilon: f64,
    /// The delta for this epsilon.
    pub delta: f64,
}

impl Report {
    /// Computes the totals of the rounds. No client has vanished.
    pub fn new(
        settings: SettingsReport,
        initial_accuracy: f64,
        held_out_examples: usize,
        seconds: f64,
        parameter_count: u64,
        per_round: Vec<RoundReport>,
    ) -> Self {
        let reports: u64 = per_round.iter().map(|round| round.reports).sum();
        Self {
            accuracy: per_round.last().map_or(initial_accuracy, |round| round.accuracy),
            initial_accuracy,
            held_out_examples,
            rounds: per_round.len() as u64,
            seconds,
            bytes_up: per_round.iter().map(|round| round.bytes_up).sum(),
            bytes_down: per_round.iter().map(|round| round.bytes_down).sum(),
            bytes_up_as_float32: update_bytes(parameter_count).unwrap_or_default() * reports,
            vanished: None,
            settings,
            per_round,
        }
    }

    /// Returns the accuracies of all versions, starting with the untrained model.
    pub fn accuracies(&self) -> Vec<f64> {
        let of_rounds = self.per_round.iter().map(|round| round.accuracy);
        std::iter::once(self.initial_accuracy).chain(of_rounds).collect()
    }
}

/// Returns the settings of a run without flags.
#[cfg(test)]
pub fn test_settings() -> SettingsReport {
    SettingsReport {
        model: DemoModel::Mlp,
        clients: 20,
        cohort: 10,
        alpha: 1.0,
        seed: 1,
        privacy: None,
        codec: None,
        secure_aggregation: false,
        vanish: None,
    }
}

/// Returns the report of a run with these accuracies.
#[cfg(test)]
pub fn test_report(accuracies: &[f64]) -> Report {
    let round = |(index, &accuracy): (usize, &f64)| RoundReport {
        round: index as u64 + 1,
        cohort: 10,
        reports: 9,
        loss: Some(0.5),
        epsilon: None,
        accuracy,
        bytes_up: 1000,
        bytes_down: 2000,
        seconds: 0.25,
    };
    Report::new(test_settings(), 0.1, 359, 7.5, 2_410, accuracies.iter().enumerate().map(round).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_sums_and_every_round() {
        let json = serde_json::to_value(test_report(&[0.5, 0.9])).unwrap();
        assert_eq!(json["accuracy"], 0.9);
        assert_eq!((&json["rounds"], &json["seconds"]), (&2.into(), &7.5.into()));
        assert_eq!((&json["bytes_up"], &json["bytes_down"]), (&2000.into(), &4000.into()));
        let keys = ["round", "cohort", "reports", "loss", "accuracy", "bytes_up", "bytes_down", "seconds"];
        for round in json["per_round"].as_array().unwrap() {
            assert!(keys.iter().all(|key| round[key].is_number()), "{round}");
        }
    }

    #[test]
    fn without_a_round_the_accuracy_is_the_initial_one() {
        let report = test_report(&[]);
        assert_eq!((report.accuracy, report.accuracies()), (0.1, vec![0.1]));
    }
}
