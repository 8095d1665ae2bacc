use folkmoot_protocol::{Fault, saturating::to_whole};
use serde::{Deserialize, Serialize};

use super::{COHORT_MAX, CommitDecision, Facts, SchedulingPolicy, StartDecision, check::Check};
use crate::abandon_reason::AbandonReason;

/// Synchronous rounds with over-selection, a report goal, a minimum cohort and deadlines.
///
/// More clients are drawn than needed, and the round commits when the goal is reached, without the slowest. These
/// are the backup workers of Chen et al. 2016 ("Revisiting Distributed Synchronous SGD") and the rounds of
/// Bonawitz et al. 2019 ("Towards Federated Learning at Scale", section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Synchronous {
    /// The number of updates that a round needs.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [100])))]
    pub report_goal: u64,
    /// The ratio of drawn clients to `report_goal`; 1 draws exactly the goal.
    ///
    /// The default is 1.3 (Bonawitz et al. 2019) if the population is at least twice as large as the resulting
    /// cohort. In a smaller population, a round starts as soon as `report_goal` clients wait. It still draws up
    /// to 1.3 times the goal if more are waiting. So a round does not have to wait for the slowest clients of the
    /// previous one.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "maximum" = 10, "examples" = [1.3])))]
    pub over_selection_factor: Option<f64>,
    /// The minimum number of updates for a commit at the deadline. The default is half of the goal, rounded up.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [50])))]
    pub minimum_cohort: Option<u64>,
    /// Seconds to wait for enough clients.
    #[serde(default = "default_selection_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub selection_deadline_seconds: u64,
    /// The number of seconds after the draw for which the round accepts updates.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

/// The default over-selection (Bonawitz et al. 2019).
const DEFAULT_OVER_SELECTION_FACTOR: f64 = 1.3;

/// A population of at least this many cohorts is a crowd: extra clients drawn now are not missed in the next
/// round.
const COHORTS_IN_A_CROWD: u64 = 2;

pub(super) fn default_selection_deadline_seconds() -> u64 {
    60
}

pub(super) fn default_reporting_deadline_seconds() -> u64 {
    600
}

impl Synchronous {
    /// Returns the maximum number of clients that a round draws.
    pub fn cohort(&self) -> u64 {
        let factor = self.over_selection_factor.unwrap_or(DEFAULT_OVER_SELECTION_FACTOR);
        to_whole((self.report_goal as f64 * factor).ceil())
    }

    /// Returns the minimum number of updates for a commit.
    pub fn minimum_cohort(&self) -> u64 {
        self.minimum_cohort.unwrap_or(self.report_goal.div_ceil(2))
    }
}

/// Draws a cohort once `enough` clients wait. After the selection deadline, `fewest` clients are enough.
pub(super) fn start_cohort(
    waiting: u64,
    enough: u64,
    (fewest, most): (u64, u64),
    is_late: bool,
) -> StartDecision {
    if waiting >= enough || is_late && waiting >= fewest {
        StartDecision::Draw { cohort: waiting.min(most) }
    } else if is_late {
        StartDecision::Abandon(AbandonReason::TooFewClients)
    } else {
        StartDecision::Wait
    }
}

impl SchedulingPolicy for Synchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        let goal = self.report_goal;
        let factor = self.over_selection_factor.unwrap_or(DEFAULT_OVER_SELECTION_FACTOR);
        check.that(goal > 0, "report_goal", "it is 0", "it must be at least 1");
        let factor_is_right = (1.0..=10.0).contains(&factor);
        check.that(factor_is_right, "over_selection_factor", format!("it is {factor}"), "it must be 1 to 10");
        let cohort_is_right = !factor_is_right || self.cohort() <= COHORT_MAX;
        let message = format!("it makes a cohort of {} clients", self.cohort());
        check.that(
            cohort_is_right,
            "report_goal",
            message,
            "report_goal times over_selection_factor must be at most 100000",
        );
        let minimum = self.minimum_cohort();
        let message = format!("it is {minimum}, with a report_goal of {goal}");
        let is_right = minimum > 0 && minimum <= goal.max(1);
        check.that(is_right, "minimum_cohort", message, "it must be 1 to `report_goal`");
        check.seconds("selection_deadline_seconds", self.selection_deadline_seconds);
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
    }

    fn updates(&self) -> (u64, u64) {
        (self.minimum_cohort(), self.cohort())
    }

    fn concurrency(&self) -> u64 {
        self.cohort()
    }

    fn crowd(&self) -> Option<u64> {
        self.over_selection_factor.is_none().then(|| self.cohort().saturating_mul(COHORTS_IN_A_CROWD))
    }

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        let is_late = facts.elapsed() >= self.selection_deadline_seconds * 1000;
        let goal_is_enough = self.over_selection_factor.is_none() && !facts.is_crowd;
        let enough = if goal_is_enough { self.report_goal } else { self.cohort() };
        start_cohort(waiting, enough, (self.minimum_cohort(), self.cohort()), is_late)
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
            over_selection_factor: Some(1.3),
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
    fn a_small_population_starts_with_the_goal_and_takes_more_if_they_are_there() {
        let policy = Synchronous { over_selection_factor: None, ..policy() };
        assert_eq!((policy.cohort(), policy.crowd()), (13, Some(26)));
        let start = |is_crowd, waiting| policy.start(&Facts { is_crowd, ..after(0, counts(0, 0)) }, waiting);
        let small = [9, 10, 12, 13, 20].map(|waiting| start(false, waiting));
        let draw = |cohort| StartDecision::Draw { cohort };
        assert_eq!(small, [StartDecision::Wait, draw(10), draw(12), draw(13), draw(13)]);
        assert_eq!([12, 13].map(|waiting| start(true, waiting)), [StartDecision::Wait, draw(13)]);
        let explicit = Synchronous { over_selection_factor: Some(1.3), ..policy };
        assert_eq!(explicit.crowd(), None);
        assert_eq!(
            explicit.start(&after(0, counts(0, 0)), 12),
            StartDecision::Wait,
            "an explicit factor applies"
        );
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
