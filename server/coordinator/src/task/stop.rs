use folkmoot_protocol::{Timestamp, saturating::to_length};
use serde::{Deserialize, Serialize};

use super::{Fault, Measured};

/// The conditions that end a task. The first one that is met ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct StopConditions {
    /// Ends after this many committed rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
    pub rounds: Option<u64>,
    /// Ends when the evaluated metric is at least this good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [0.95])))]
    pub target: Option<f64>,
    /// Ends when the evaluated metric stops improving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<Plateau>,
    /// Ends this many hours after the first round started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [48.0])))]
    pub hours: Option<f64>,
}

/// The condition that the evaluated metric has stopped improving.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    /// The number of consecutive evaluations without improvement: at least 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [5])))]
    pub evaluations: u64,
    /// The improvement that one of these evaluations must exceed to keep the task running: at least 0.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
    pub improvement_min: f64,
}

/// The condition that ended a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The number of rounds was reached.
    Rounds,
    /// The metric reached its target.
    Target,
    /// The metric stopped improving.
    Plateau,
    /// The task's time limit was reached.
    Time,
    /// One more version would have exceeded the privacy budget.
    PrivacyBudget,
}

impl StopReason {
    /// Returns the reason's name, as the API, logs and the console show it.
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Rounds => "rounds",
            StopReason::Target => "target",
            StopReason::Plateau => "plateau",
            StopReason::Time => "time",
            StopReason::PrivacyBudget => "privacy_budget",
        }
    }
}

/// The progress of a task.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The number of rounds that committed a version.
    pub committed: u64,
    /// When the first round started.
    pub began_at: Option<Timestamp>,
    /// The current time.
    pub now: Timestamp,
    /// The measurements, oldest version first.
    pub measured: &'a [Measured],
}

const MILLISECONDS_PER_HOUR: f64 = 3_600_000.0;

impl StopConditions {
    /// Creates conditions that end the task after `rounds` committed rounds.
    pub fn after_rounds(rounds: u64) -> Self {
        Self { rounds: Some(rounds), ..Self::default() }
    }

    /// Returns the condition that this progress meets, if any.
    pub fn met(&self, progress: &Progress<'_>) -> Option<StopReason> {
        let time = |hours: f64| {
            let elapsed = progress.began_at.map(|at| progress.now.milliseconds_since(at));
            elapsed.is_some_and(|elapsed| elapsed as f64 >= hours * MILLISECONDS_PER_HOUR)
        };
        let reached = |target: f64| {
            progress.measured.last().is_some_and(|last| last.metric.is_as_good(last.value, target))
        };
        if self.target.is_some_and(reached) {
            Some(StopReason::Target)
        } else if self.rounds.is_some_and(|rounds| progress.committed >= rounds) {
            Some(StopReason::Rounds)
        } else if self.plateau.is_some_and(|plateau| plateau.is_reached(progress.measured)) {
            Some(StopReason::Plateau)
        } else if self.hours.is_some_and(time) {
            Some(StopReason::Time)
        } else {
            None
        }
    }

    /// Returns whether a condition depends on the evaluated metric.
    pub fn needs_evaluation(&self) -> bool {
        self.target.is_some() || self.plateau.is_some()
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        if *self == Self::default() {
            faults.push(Fault::new(
                "stop",
                "it is empty",
                "set at least one condition, for example rounds = 100",
            ));
        }
        if self.rounds == Some(0) {
            faults.push(Fault::new("stop.rounds", "it is 0", "it must be at least 1"));
        }
        if self.target.is_some_and(|target| !target.is_finite()) {
            faults.push(Fault::new(
                "stop.target",
                "it is not finite",
                "set it to the metric value at which the task ends",
            ));
        }
        if let Some(plateau) = self.plateau {
            if plateau.evaluations == 0 {
                faults.push(Fault::new("stop.plateau.evaluations", "it is 0", "it must be at least 1"));
            }
            if !(plateau.improvement_min.is_finite() && plateau.improvement_min >= 0.0) {
                let message = format!("it is {}", plateau.improvement_min);
                faults.push(Fault::new("stop.plateau.improvement_min", message, "it must be 0 or more"));
            }
        }
        if self.hours.is_some_and(|hours| !(hours.is_finite() && hours > 0.0)) {
            faults.push(Fault::new(
                "stop.hours",
                "it is not a finite number above 0",
                "set it to the number of hours after which the task ends",
            ));
        }
    }
}

impl Plateau {
    /// Returns whether none of the last values is better than the best value before them by more than
    /// `improvement_min`.
    fn is_reached(&self, measured: &[Measured]) -> bool {
        let patience = to_length(self.evaluations);
        let Some(split) = measured.len().checked_sub(patience).filter(|split| *split > 0) else {
            return false;
        };
        let (before, last) = measured.split_at(split);
        let Some(best) = Measured::best(before) else { return false };
        !last.iter().any(|one| one.metric.is_better(one.value, best.value, self.improvement_min))
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Metric;

    use super::*;

    fn measured(values: &[f64]) -> Vec<Measured> {
        let one = |(version, value): (usize, &f64)| Measured {
            version: version as u64,
            metric: Metric::Accuracy,
            value: *value,
            loss: None,
        };
        values.iter().enumerate().map(one).collect()
    }

    fn met(stop: StopConditions, committed: u64, hours: u64, values: &[f64]) -> Option<StopReason> {
        let measured = measured(values);
        let now = Timestamp(5 + hours * 3_600_000);
        stop.met(&Progress { committed, began_at: Some(Timestamp(5)), now, measured: &measured })
    }

    #[test]
    fn the_first_condition_ends_it() {
        let stop = StopConditions {
            rounds: Some(10),
            target: Some(0.9),
            plateau: Some(Plateau { evaluations: 3, improvement_min: 0.01 }),
            hours: Some(2.0),
        };
        assert_eq!(met(stop, 3, 1, &[0.1, 0.2, 0.3]), None);
        assert_eq!(met(stop, 10, 1, &[0.1]), Some(StopReason::Rounds));
        assert_eq!(met(stop, 3, 1, &[0.1, 0.9]), Some(StopReason::Target));
        assert_eq!(met(stop, 3, 2, &[0.1]), Some(StopReason::Time));
        assert_eq!(met(stop, 3, 1, &[0.5, 0.505, 0.509, 0.5]), Some(StopReason::Plateau));
        assert_eq!(met(stop, 3, 1, &[0.5, 0.505, 0.52, 0.5]), None);
        assert_eq!(met(stop, 3, 1, &[0.5, 0.5, 0.5]), None, "there is nothing before the last three");
    }
}
