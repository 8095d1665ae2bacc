use serde::{Deserialize, Serialize};

use super::{COHORT_MAX, CommitDecision, ReportCounts, SchedulingPolicy, StartDecision};
use crate::{round::AbandonReason, task::Fault};

/// Synchronous rounds with over-selection, report goal, minimum cohort and deadlines.
///
/// More clients are drawn than are wanted, the round commits when the goal is reached, and the slowest are
/// left behind: the backup workers of Chen et al. 2016 ("Revisiting Distributed Synchronous SGD") and the
/// rounds of Bonawitz et al. 2019 ("Towards Federated Learning at Scale", section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synchronous {
    /// How many updates are wanted.
    pub report_goal: u64,
    /// How many more clients are drawn than are wanted: 1 draws just the goal.
    #[serde(default = "default_over_selection_factor")]
    pub over_selection_factor: f64,
    /// How few updates still make a commit at the deadline; by default half of the goal, rounded up.
    #[serde(default)]
    pub minimum_cohort: Option<u64>,
    /// Seconds to wait for enough clients.
    #[serde(default = "default_selection_deadline_seconds")]
    pub selection_deadline_seconds: u64,
    /// Seconds from the draw to the last accepted update.
    #[serde(default = "default_reporting_deadline_seconds")]
    pub reporting_deadline_seconds: u64,
}

/// A third more than wanted, as Bonawitz et al. 2019 report it.
fn default_over_selection_factor() -> f64 {
    1.3
}

fn default_selection_deadline_seconds() -> u64 {
    60
}

fn default_reporting_deadline_seconds() -> u64 {
    600
}

const DEADLINE_SECONDS_MAX: u64 = 30 * 24 * 3600;

impl Synchronous {
    /// Returns how many clients are drawn.
    pub fn cohort(&self) -> u64 {
        (self.report_goal as f64 * self.over_selection_factor).ceil() as u64
    }

    /// Returns how few updates still make a commit.
    pub fn minimum_cohort(&self) -> u64 {
        self.minimum_cohort.unwrap_or(self.report_goal.div_ceil(2))
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = |is_right: bool, field: &str, message: String, remedy: &str| {
            if !is_right {
                faults.push(Fault::new(&format!("scheduling.{field}"), message, remedy));
            }
        };
        let (goal, factor) = (self.report_goal, self.over_selection_factor);
        check(goal > 0, "report_goal", "it is 0".into(), "ask for at least 1");
        let factor_is_right = (1.0..=10.0).contains(&factor);
        check(factor_is_right, "over_selection_factor", format!("it is {factor}"), "it must be 1 to 10");
        let cohort_is_right = !factor_is_right || self.cohort() <= COHORT_MAX;
        let message = format!("the cohort would be {}", self.cohort());
        check(cohort_is_right, "report_goal", message, "goal times over-selection may be 100000");
        let minimum = self.minimum_cohort();
        let message = format!("it is {minimum} of a goal of {goal}");
        check(
            minimum > 0 && minimum <= goal.max(1),
            "minimum_cohort",
            message,
            "it must be 1 to report_goal",
        );
        for (field, seconds) in [
            ("selection_deadline_seconds", self.selection_deadline_seconds),
            ("reporting_deadline_seconds", self.reporting_deadline_seconds),
        ] {
            let is_right = (1..=DEADLINE_SECONDS_MAX).contains(&seconds);
            check(is_right, field, format!("it is {seconds}"), "it must be 1 second to 30 days");
        }
    }
}

impl SchedulingPolicy for Synchronous {
    fn start(&self, waiting: u64, elapsed: u64) -> StartDecision {
        let is_late = elapsed >= self.selection_deadline_seconds * 1000;
        if waiting >= self.cohort() {
            StartDecision::Draw { cohort: self.cohort() }
        } else if is_late && waiting >= self.minimum_cohort() {
            StartDecision::Draw { cohort: waiting }
        } else if is_late {
            StartDecision::Abandon(AbandonReason::TooFewClients)
        } else {
            StartDecision::Wait
        }
    }

    fn commit(&self, counts: ReportCounts, elapsed: u64) -> CommitDecision {
        let is_over = counts.outstanding == 0 || elapsed >= self.reporting_deadline_seconds * 1000;
        if counts.accepted >= self.report_goal || is_over && counts.accepted >= self.minimum_cohort() {
            CommitDecision::Commit
        } else if is_over || counts.accepted + counts.outstanding < self.minimum_cohort() {
            CommitDecision::Abandon(AbandonReason::TooFewReports)
        } else {
            CommitDecision::Wait
        }
    }

    fn staleness_weight(&self, staleness: u64) -> Option<f64> {
        (staleness == 0).then_some(1.0)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Synchronous {
        Synchronous {
            report_goal: 10,
            over_selection_factor: 1.3,
            minimum_cohort: Some(4),
            selection_deadline_seconds: 60,
            reporting_deadline_seconds: 600,
        }
    }

    fn counts(accepted: u64, outstanding: u64) -> ReportCounts {
        ReportCounts { accepted, outstanding, dropped: 13 - accepted - outstanding }
    }

    #[test]
    fn clients_start_when_there_are_enough_or_time_is_up() {
        let start = |waiting, seconds: u64| policy().start(waiting, seconds * 1000);
        assert_eq!(start(12, 0), StartDecision::Wait);
        assert_eq!(start(13, 0), StartDecision::Draw { cohort: 13 });
        assert_eq!(start(500, 0), StartDecision::Draw { cohort: 13 });
        assert_eq!(start(4, 60), StartDecision::Draw { cohort: 4 });
        assert_eq!(start(3, 60), StartDecision::Abandon(AbandonReason::TooFewClients));
    }

    #[test]
    fn a_round_commits_at_the_goal_or_with_the_minimum_when_it_is_over() {
        let commit = |counts, seconds: u64| policy().commit(counts, seconds * 1000);
        assert_eq!(commit(counts(9, 4), 0), CommitDecision::Wait);
        assert_eq!(commit(counts(10, 3), 0), CommitDecision::Commit);
        assert_eq!(commit(counts(4, 0), 0), CommitDecision::Commit);
        assert_eq!(commit(counts(4, 9), 599), CommitDecision::Wait);
        assert_eq!(commit(counts(4, 9), 600), CommitDecision::Commit);
        assert_eq!(commit(counts(3, 9), 600), CommitDecision::Abandon(AbandonReason::TooFewReports));
        assert_eq!(commit(counts(1, 2), 0), CommitDecision::Abandon(AbandonReason::TooFewReports));
    }
}
