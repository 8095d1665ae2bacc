use folkmoot_protocol::Fault;

use super::{COHORT_MAX, CommitDecision, Facts, SchedulingPolicy, StartDecision, Synchronous};
use crate::abandon_reason::AbandonReason;

/// Synchronous rounds whose privacy depends on the draw, for tasks with `privacy.amplification = "poisson"`.
///
/// The accountant charges each version as one Poisson sample. Three rules ensure that every round is one Poisson
/// sample:
///
/// - A draw is made once and always makes a version, even if it drew few clients or few have reported. Repeating draws
///   until one suits would select some clients more often than the sampling rate says.
/// - No client is left out. The round ends at its deadline, not when enough clients have reported. Keeping only the
///   fastest clients would be another mechanism, with another epsilon.
/// - The elapsed time alone decides when a round draws and when it ends. The time of a release reveals nothing about
///   who was drawn.
///
/// Only one thing may depend on the clients: whether a round draws at all. While fewer than `minimum_cohort`
/// wait, it is abandoned before any coin is tossed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled(pub Synchronous);

impl SchedulingPolicy for Sampled {
    fn validate(&self, faults: &mut Vec<Fault>) {
        self.0.validate(faults);
    }

    fn updates(&self) -> (u64, u64) {
        (0, COHORT_MAX)
    }

    fn concurrency(&self) -> u64 {
        COHORT_MAX
    }

    fn keeps_draws(&self) -> bool {
        true
    }

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        if facts.elapsed() < self.0.selection_deadline_seconds * 1000 {
            StartDecision::Wait
        } else if waiting >= self.0.minimum_cohort() {
            StartDecision::Draw { cohort: waiting.min(COHORT_MAX) }
        } else {
            StartDecision::Abandon(AbandonReason::TooFewClients)
        }
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        match facts.elapsed() >= self.0.reporting_deadline_seconds * 1000 {
            true => CommitDecision::Commit,
            false => CommitDecision::Wait,
        }
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.0.assignment_milliseconds()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ReportCounts, samples::some_facts},
        *,
    };

    fn policy() -> Sampled {
        Sampled(Synchronous {
            report_goal: 10,
            over_selection_factor: Some(1.3),
            minimum_cohort: Some(4),
            selection_deadline_seconds: 60,
            reporting_deadline_seconds: 600,
        })
    }

    fn after(seconds: u64, accepted: u64, outstanding: u64) -> Facts<'static> {
        let facts = some_facts(0, &[]);
        let counts = ReportCounts { accepted, outstanding, dropped: 0 };
        Facts { now: facts.since.plus_milliseconds(seconds * 1000), counts, ..facts }
    }

    #[test]
    fn the_clock_decides_when_a_round_draws_and_the_waiting_only_whether_it_does() {
        let start = |waiting, seconds| policy().start(&after(seconds, 0, 0), waiting);
        assert_eq!(start(500, 59), StartDecision::Wait, "no client is drawn early");
        assert_eq!(start(500, 60), StartDecision::Draw { cohort: 500 });
        assert_eq!(start(4, 60), StartDecision::Draw { cohort: 4 });
        assert_eq!(start(3, 60), StartDecision::Abandon(AbandonReason::TooFewClients));
    }

    #[test]
    fn a_round_commits_at_its_deadline_whatever_has_arrived() {
        let commit = |accepted, outstanding, seconds| policy().commit(&after(seconds, accepted, outstanding));
        assert_eq!(commit(10, 3, 599), CommitDecision::Wait, "the goal does not end it");
        assert_eq!(commit(13, 0, 599), CommitDecision::Wait, "the last report stays hidden");
        for accepted in [0, 3, 10] {
            assert_eq!(commit(accepted, 3, 600), CommitDecision::Commit);
        }
    }
}
