//! What a run came to.

use folkmoot_protocol::{Codec, update::update_bytes};
use serde::Serialize;

use super::data::DemoModel;

/// One committed round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundReport {
    /// Its number, from 1.
    pub round: u64,
    /// The clients that were drawn.
    pub cohort: u64,
    /// The updates that it combines.
    pub reports: u64,
    /// The mean loss that its clients saw while they trained; none where it is theirs to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The epsilon that was spent with it and all before, where training is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The share of held-out examples that the model version it released gets right, 0 to 1.
    pub accuracy: f64,
    /// Bytes of updates that its clients sent.
    pub bytes_up: u64,
    /// Bytes of plans, models and weights that its clients fetched; what they had already does not count.
    pub bytes_down: u64,
    /// Seconds from its opening to its commit.
    pub seconds: f64,
}

/// The whole run, as `report.json` holds it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The last version's share of right held-out examples, 0 to 1.
    pub accuracy: f64,
    /// The same of the model before the first round.
    pub initial_accuracy: f64,
    /// The examples on which accuracies are measured.
    pub held_out_examples: usize,
    /// The committed rounds.
    pub rounds: u64,
    /// Seconds from the task's start to the last commit.
    pub seconds: f64,
    /// Bytes of updates that clients sent, in all rounds.
    pub bytes_up: u64,
    /// Bytes that clients fetched, in all rounds.
    pub bytes_down: u64,
    /// Bytes that the same updates have as float32.
    pub bytes_up_as_float32: u64,
    /// What was asked for.
    pub settings: SettingsReport,
    /// Every round.
    pub per_round: Vec<RoundReport>,
}

/// What was asked for, so that the run can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SettingsReport {
    /// What was trained.
    pub model: DemoModel,
    /// The clients that were enrolled.
    pub clients: u32,
    /// The clients that a round draws.
    pub cohort: u32,
    /// The concentration of the split over labels.
    pub alpha: f64,
    /// The split's seed.
    pub seed: u64,
    /// The budget, where training is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyReport>,
    /// How updates were compressed, where they were.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub codec: Option<Codec>,
}

fn as_text<S: serde::Serializer>(codec: &Option<Codec>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&codec.map(|codec| codec.to_string()).unwrap_or_default())
}

/// A privacy budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PrivacyReport {
    /// What may be spent.
    pub epsilon: f64,
    /// At which delta.
    pub delta: f64,
}

impl Report {
    /// Sums the rounds up.
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
            settings,
            per_round,
        }
    }

    /// Returns the accuracies of all versions, the initial one first.
    pub fn accuracies(&self) -> Vec<f64> {
        let of_rounds = self.per_round.iter().map(|round| round.accuracy);
        std::iter::once(self.initial_accuracy).chain(of_rounds).collect()
    }
}

/// Makes the report of a run whose accuracies were these.
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
    let settings = SettingsReport {
        model: DemoModel::Mlp,
        clients: 20,
        cohort: 10,
        alpha: 1.0,
        seed: 1,
        privacy: None,
        codec: None,
    };
    Report::new(settings, 0.1, 359, 7.5, 2_410, accuracies.iter().enumerate().map(round).collect())
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
