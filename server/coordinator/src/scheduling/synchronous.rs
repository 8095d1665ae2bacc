use serde::{Deserialize, Serialize};

use super::{COHORT_MAX, CommitDecision, Facts, SchedulingPolicy, StartDecision, check::Check};
use crate::{round::AbandonReason, task::Fault};

/// Synchronous rounds with over-selection, report goal, minimum cohort and deadlines.
///
/// More clients are drawn than are wanted, the round commits when the goal is reached, and the slowest are
/// left behind: the backup workers of Chen et al. 2016 ("Revisiting Distributed Synchronous SGD") and the
/// rounds of Bonawitz et al. 2019 ("Towards Federated Learning at Scale", section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Synchronous {
    /// How many updates are wanted.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [100])))]
    pub report_goal: u64,
    /// How many more clients are drawn than are wanted: 1 draws just the goal.
    #[serde(default = "default_over_selection_factor")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "maximum" = 10)))]
    pub over_selection_factor: f64,
    /// How few updates still make a commit at the deadline; by default half of the goal, rounded up.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [50])))]
    pub minimum_cohort: Option<u64>,
    /// Seconds to wait for enough clients.
    #[serde(default = "default_selection_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub selection_deadline_seconds: u64,
    /// Seconds from the draw to the last accepted update.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

/// A third more than wanted, as Bonawitz et al. 2019 report it.
fn default_over_selection_factor() -> f64 {
    1.3
}

fn default_selection_deadline_seconds() -> u64 {
    60
}

pub(super) fn default_reporting_deadline_seconds() -> u64 {
    600
}

impl Synchronous {
    /// Returns how many clients are drawn.
    pub fn cohort(&self) -> u64 {
        (self.report_goal as f64 * self.over_selection_factor).ceil() as u64
    }

    /// Returns how few updates still make a commit.
    pub fn minimum_cohort(&self) -> u64 {
        self.minimum_cohort.unwrap_or(self.report_goal.div_ceil(2))
    }
}

impl SchedulingPolicy for Synchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        let (goal, factor) = (self.report_goal, self.over_selection_factor);
        check.that(goal > 0, "report_goal", "it is 0", "ask for at least 1");
        let factor_is_right = (1.0..=10.0).contains(&factor);
        check.that(factor_is_right, "over_selection_factor", format!("it is {factor}"), "it must be 1 to 10");
        let cohort_is_right = !factor_is_right || self.cohort() <= COHORT_MAX;
        let message = format!("the cohort would be {}", self.cohort());
        check.that(cohort_is_right, "report_goal", message, "goal times over-selection may be 100000");
        let minimum = self.minimum_cohort();
        let message = format!("it is {minimum} of a goal of {goal}");
        let is_right = minimum > 0 && minimum <= goal.max(1);
        check.that(is_right, "minimum_cohort", message, "it must be 1 to report_goal");
        check.seconds("selection_deadline_seconds", self.selection_deadline_seconds);
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
    }

    fn updates(&self) -> (u64, u64) {
        (self.minimum_cohort(), self.cohort())
    }

    fn concurrency(&self) -> u64 {
        self.cohort()
    }

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        let is_late = facts.elapsed() >= self.selection_deadline_seconds * 1000;
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

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        let counts = facts.counts;
        let is_over = counts.outstanding == 0 || facts.elapsed() >= self.reporting_deadline_seconds * 1000;
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
    use super::{
        super::{ReportCounts, samples::some_facts},
        *,
    };

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

    fn after(seconds: u64, counts: ReportCounts) -> Facts<'static> {
        let facts = some_facts(0, &[]);
        Facts { now: facts.since.plus_milliseconds(seconds * 1000), counts, ..facts }
    }

    #[test]
    fn clients_start_when_there_are_enough_or_time_is_up() {
        let start = |waiting, seconds| policy().start(&after(seconds, counts(0, 0)), waiting);
        assert_eq!(start(12, 0), StartDecision::Wait);
        assert_eq!(start(13, 0), StartDecision::Draw { cohort: 13 });
        assert_eq!(start(500, 0), StartDecision::Draw { cohort: 13 });
        assert_eq!(start(4, 60), StartDecision::Draw { cohort: 4 });
        assert_eq!(start(3, 60), StartDecision::Abandon(AbandonReason::TooFewClients));
    }

    #[test]
    fn a_round_commits_at_the_goal_or_with_the_minimum_when_it_is_over() {
        let commit = |counts, seconds| policy().commit(&after(seconds, counts));
        assert_eq!(commit(counts(9, 4), 0), CommitDecision::Wait);
        assert_eq!(commit(counts(10, 3), 0), CommitDecision::Commit);
        assert_eq!(commit(counts(4, 0), 0), CommitDecision::Commit);
        assert_eq!(commit(counts(4, 9), 599), CommitDecision::Wait);
        assert_eq!(commit(counts(4, 9), 600), CommitDecision::Commit);
        assert_eq!(commit(counts(3, 9), 600), CommitDecision::Abandon(AbandonReason::TooFewReports));
        assert_eq!(commit(counts(1, 2), 0), CommitDecision::Abandon(AbandonReason::TooFewReports));
    }
}
