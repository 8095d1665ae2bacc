use folkmoot_protocol::{FineTuning, Metric, limits::ATTRIBUTES_MAX};
use serde::{Deserialize, Serialize};

use super::Fault;
use crate::scheduling::{SchedulingPolicy, Synchronous};

/// The evaluation of model versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The interval between evaluated versions. Version 0 is always evaluated.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub every_versions: u64,
    /// The metric that decides the best version, the stop target and rollbacks. The loss and the labels must allow it.
    #[serde(default)]
    pub metric: Metric,
    /// Evaluates on clients, in separate rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub federated: Option<FederatedEvaluation>,
    /// Evaluates on the operator's own examples, which are uploaded with the task. If clients evaluate too, the central
    /// results take precedence over the clients' results.
    #[serde(default)]
    pub central: bool,
    /// The margin that triggers a rollback. If the metric is worse than the best by more than this margin, the task
    /// rolls back to the best version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.05])))]
    pub rollback_margin: Option<f64>,
}

/// Evaluation rounds: clients evaluate a version on their own examples and report sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FederatedEvaluation {
    /// The number of reports that a round needs.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [50])))]
    pub report_goal: u64,
    /// The minimum number of reports for an evaluation at the deadline. The default is half of the goal, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [25])))]
    pub minimum_cohort: Option<u64>,
    /// Seconds to wait for enough clients.
    #[serde(default = "a_minute")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub selection_deadline_seconds: u64,
    /// The number of seconds after the draw for which the round accepts reports.
    #[serde(default = "five_minutes")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
    /// Attributes whose values divide the clients into slices, each with its own metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32), extend("default" = [], "examples" = [["region"]])))]
    pub slice_by: Vec<String>,
    /// The minimum number of clients of a slice. Smaller slices are not shown.
    #[serde(default = "ten")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub minimum_group: u64,
    /// Measures the benefit of personalising the version: each client holds out a share of its examples, measures the
    /// version on them, trains it on its other examples, and measures it again on the held-out ones. Evaluations list
    /// the second measurement as `fine_tuned`. The trained weights never leave the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "epochs": 1, "learning_rate": 0.05 }])))]
    pub fine_tuning: Option<FineTuning>,
}

/// The measured metric of one model version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The number of the version.
    pub version: u64,
    /// The metric that was measured.
    pub metric: Metric,
    /// The value of the metric.
    pub value: f64,
    /// The mean loss, if it was measured. It decides among versions with equal values.
    #[serde(default)]
    pub loss: Option<f64>,
}

fn one() -> u64 {
    1
}

fn ten() -> u64 {
    10
}

fn a_minute() -> u64 {
    60
}

fn five_minutes() -> u64 {
    300
}

impl Measured {
    /// Returns the best measurement; among equal ones, the measurement with the lowest loss, and then the earliest.
    ///
    /// On a small test set, many versions have the same accuracy while their loss still falls.
    pub fn best(measured: &[Measured]) -> Option<&Measured> {
        measured.iter().reduce(|best, one| if one.is_better_than(best) { one } else { best })
    }

    fn is_better_than(&self, other: &Measured) -> bool {
        if self.value != other.value {
            return self.metric.is_better(self.value, other.value, 0.0);
        }
        self.loss.zip(other.loss).is_some_and(|(loss, other)| loss < other)
    }
}

impl FederatedEvaluation {
    /// Returns the round policy of evaluation rounds.
    pub fn policy(&self) -> Synchronous {
        Synchronous {
            report_goal: self.report_goal,
            over_selection_factor: Some(1.0),
            minimum_cohort: self.minimum_cohort,
            selection_deadline_seconds: self.selection_deadline_seconds,
            reporting_deadline_seconds: self.reporting_deadline_seconds,
        }
    }
}

impl Evaluation {
    /// Returns whether a version should be evaluated.
    pub fn is_due(&self, version: u64) -> bool {
        version.is_multiple_of(self.every_versions.max(1))
    }

    /// Returns the best version if the last one is worse by more than the rollback margin.
    pub fn rollback(&self, measured: &[Measured]) -> Option<u64> {
        let (margin, last) = (self.rollback_margin?, measured.last()?);
        let best = Measured::best(measured)?;
        last.metric.is_better(best.value, last.value, margin).then_some(best.version)
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        if self.every_versions == 0 {
            faults.push(Fault::new("evaluation.every_versions", "it is 0", "it must be at least 1"));
        }
        if self.federated.is_none() && !self.central {
            let remedy = "add [evaluation.federated], or set central = true and upload your own examples";
            faults.push(Fault::new("evaluation", "it has no source of examples", remedy));
        }
        if self.rollback_margin.is_some_and(|margin| !(margin.is_finite() && margin >= 0.0)) {
            faults.push(Fault::new(
                "evaluation.rollback_margin",
                "it is negative or not finite",
                "it must be 0 or more, for example 0.05",
            ));
        }
        let Some(federated) = &self.federated else { return };
        for (field, value, allowed) in federated.fine_tuning.iter().flat_map(FineTuning::faults) {
            let field = format!("evaluation.federated.fine_tuning.{field}");
            faults.push(Fault::new(&field, format!("it is {value}"), format!("it must be {allowed}")));
        }
        let begin = faults.len();
        federated.policy().validate(faults);
        for fault in &mut faults[begin..] {
            fault.field = fault.field.replacen("scheduling", "evaluation.federated", 1);
        }
        if federated.slice_by.len() > ATTRIBUTES_MAX {
            let message = format!("it names {} attributes", federated.slice_by.len());
            faults.push(Fault::new(
                "evaluation.federated.slice_by",
                message,
                format!("name at most {ATTRIBUTES_MAX} attributes"),
            ));
        }
        if federated.minimum_group == 0 {
            let remedy = "it must be at least 1; metrics of a small group reveal much about each client";
            faults.push(Fault::new("evaluation.federated.minimum_group", "it is 0", remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(margin: f64, metric: Metric) -> Evaluation {
        Evaluation {
            every_versions: 2,
            metric,
            federated: None,
            central: true,
            rollback_margin: Some(margin),
        }
    }

    #[test]
    fn a_fall_by_more_than_the_margin_goes_back_to_the_best() {
        let measured = |metric, values: &[f64]| -> Vec<Measured> {
            let one = |(version, value): (u64, &f64)| Measured { version, metric, value: *value, loss: None };
            (0..).zip(values).map(one).collect()
        };
        let accuracy = evaluation(0.1, Metric::Accuracy);
        assert_eq!(accuracy.rollback(&measured(Metric::Accuracy, &[0.5, 0.8, 0.75])), None);
        assert_eq!(accuracy.rollback(&measured(Metric::Accuracy, &[0.5, 0.8, 0.75, 0.6])), Some(1));
        let loss = evaluation(0.5, Metric::Loss);
        assert_eq!(loss.rollback(&measured(Metric::Loss, &[2.0, 1.0, 1.4])), None);
        assert_eq!(loss.rollback(&measured(Metric::Loss, &[2.0, 1.0, 1.6])), Some(1));
        assert_eq!([0, 1, 2, 3].map(|version| loss.is_due(version)), [true, false, true, false]);
    }

    #[test]
    fn the_loss_decides_among_equals() {
        let best = |values: &[(f64, Option<f64>)]| {
            let one = |(version, (value, loss)): (u64, &(f64, Option<f64>))| Measured {
                version,
                metric: Metric::Accuracy,
                value: *value,
                loss: *loss,
            };
            let measured: Vec<Measured> = (0..).zip(values).map(one).collect();
            Measured::best(&measured).map(|best| best.version)
        };
        assert_eq!(best(&[(0.9, Some(0.5)), (0.9, Some(0.4)), (0.9, Some(0.4)), (0.8, Some(0.1))]), Some(1));
        assert_eq!(
            best(&[(0.9, None), (0.9, Some(0.4))]),
            Some(0),
            "nothing is compared with a loss that is unknown"
        );
        assert_eq!(best(&[(0.9, Some(f64::NAN)), (0.9, Some(0.4))]), Some(0));
        assert_eq!(best(&[]), None);
    }
}
