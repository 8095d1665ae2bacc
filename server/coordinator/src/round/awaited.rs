//! The event that an open round waits for. It is found by asking the policy, so it cannot differ from what the policy
//! will decide.

use folkmoot_protocol::Timestamp;

use super::{Phase, Round};
use crate::scheduling::{COHORT_MAX, CommitDecision, Facts, ReportCounts, SchedulingPolicy, StartDecision};

/// The longest deadline of a phase, in milliseconds: 30 days, the largest that a task can set.
const DEADLINE_MAX: u64 = 30 * 24 * 3600 * 1000;

/// The event that ends the current phase of an open round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The number of waiting clients, or of accepted updates, that ends the phase at once. `None` if no number does.
    pub needed: Option<u64>,
    /// The deadline of the phase; `None` if it has none.
    pub until: Option<Timestamp>,
    /// The number of clients or updates that is enough from the deadline on. With fewer, a round that draws a cohort is
    /// abandoned, and a flow continues.
    pub needed_then: Option<u64>,
}

impl Round {
    /// Returns the event that this round waits for; `None` if it waits for nothing, or if the clocks of single clients
    /// decide.
    pub fn awaited(
        &self,
        policy: &dyn SchedulingPolicy,
        is_crowd: bool,
        counts: ReportCounts,
    ) -> Option<Awaited> {
        let (since, asked) = match self.phase {
            Phase::Selecting { since } | Phase::Collecting { since } => (since, None),
            Phase::Reporting { since, asked, .. } => (since, asked),
            Phase::AdvertisingKeys { since, .. } => (since, None),
            _ => return None,
        };
        if policy.flow().is_some_and(|flow| flow.absence_milliseconds.is_some() || flow.needs_changes) {
            return None;
        }
        let facts = Facts { is_crowd, ..self.facts(since, asked, since, counts) };
        let at = |milliseconds: u64| Facts { now: since.plus_milliseconds(milliseconds), ..facts };
        let is_selecting = matches!(self.phase, Phase::Selecting { .. });
        let most = match self.phase {
            Phase::Selecting { .. } => COHORT_MAX,
            // The other updates of the cohort are lost.
            Phase::Reporting { .. } | Phase::AdvertisingKeys { .. } => {
                counts.accepted.saturating_add(counts.outstanding)
            }
            _ => counts.accepted.saturating_add(COHORT_MAX),
        };
        let enough = |milliseconds: u64| {
            let facts = at(milliseconds);
            first(most, |number| match is_selecting {
                true => matches!(policy.start(&facts, number), StartDecision::Draw { .. }),
                false => commits(policy, &facts, number),
            })
        };
        let needed = enough(0);
        let is_late = |milliseconds: u64| {
            let facts = at(milliseconds);
            let gives_up = match self.phase {
                Phase::Selecting { .. } => policy.start(&facts, 0) != StartDecision::Wait,
                Phase::Reporting { .. } | Phase::AdvertisingKeys { .. } => gives_up(policy, &facts),
                _ => false,
            };
            gives_up || enough(milliseconds) != needed
        };
        let deadline = first(DEADLINE_MAX, is_late);
        Some(Awaited {
            needed,
            until: deadline.map(|milliseconds| since.plus_milliseconds(milliseconds)),
            needed_then: deadline.and_then(enough),
        })
    }
}

/// Returns whether the round commits with this number of accepted updates. In a cohort, each comes from an outstanding
/// assignment.
fn commits(policy: &dyn SchedulingPolicy, facts: &Facts<'_>, accepted: u64) -> bool {
    let all = facts.counts.accepted.saturating_add(facts.counts.outstanding);
    let outstanding = all.saturating_sub(accepted);
    let counts = ReportCounts { accepted, outstanding, ..facts.counts };
    matches!(policy.commit(&Facts { counts, ..*facts }), CommitDecision::Commit)
}

/// Returns whether the round ends even if none of its updates has arrived.
fn gives_up(policy: &dyn SchedulingPolicy, facts: &Facts<'_>) -> bool {
    let outstanding = facts.counts.accepted.saturating_add(facts.counts.outstanding).max(1);
    let counts = ReportCounts { accepted: 0, outstanding, ..facts.counts };
    matches!(policy.commit(&Facts { counts, ..*facts }), CommitDecision::Commit | CommitDecision::Abandon(_))
}

/// Returns the first number up to `most` that `holds`. It must hold for all larger numbers, too.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{RoundId, TaskId};
    use serde_json::{Value, json};

    use super::*;
    use crate::{round::Purpose, scheduling::SchedulingChoice};

    const SINCE: Timestamp = Timestamp(1_000_000);

    fn awaited(
        policy: Value,
        phase: Phase,
        is_crowd: bool,
        accepted: u64,
        outstanding: u64,
    ) -> Option<Awaited> {
        let choice: SchedulingChoice = serde_json::from_value(policy).unwrap();
        let round = Round {
            id: RoundId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            number: 1,
            purpose: Purpose::Training,
            base_version: 0,
            phase,
        };
        let counts = ReportCounts { accepted, outstanding, dropped: 0 };
        round.awaited(choice.policy(), is_crowd, counts)
    }

    fn until(
        seconds: u64,
        needed: impl Into<Option<u64>>,
        needed_then: impl Into<Option<u64>>,
    ) -> Option<Awaited> {
        let until = Some(SINCE.plus_seconds(seconds));
        Some(Awaited { needed: needed.into(), until, needed_then: needed_then.into() })
    }

    #[test]
    fn a_cohort_waits_for_clients_and_then_for_updates() {
        let policy = json!({
            "kind": "synchronous", "report_goal": 5, "minimum_cohort": 3,
            "selection_deadline_seconds": 60, "reporting_deadline_seconds": 600,
        });
        let selecting = Phase::Selecting { since: SINCE };
        let reporting = Phase::Reporting { since: SINCE, cohort: 7, asked: None };
        let of = |phase, is_crowd, accepted, outstanding| {
            awaited(policy.clone(), phase, is_crowd, accepted, outstanding)
        };
        assert_eq!(of(selecting.clone(), false, 0, 0), until(60, 5, 3));
        assert_eq!(of(selecting, true, 0, 0), until(60, 7, 3));
        assert_eq!(of(reporting.clone(), false, 2, 5), until(600, 5, 3));
        // Three of seven have given up, so the goal cannot be reached any more.
        assert_eq!(of(reporting, false, 2, 2), until(600, 4, 3));
        assert_eq!(of(Phase::Aggregating { since: SINCE, cohort: 7, accepted: 5 }, false, 5, 0), None);
    }

    #[test]
    fn a_goal_that_is_also_the_minimum_has_a_deadline() {
        let policy = json!({
            "kind": "synchronous", "report_goal": 5, "minimum_cohort": 5, "selection_deadline_seconds": 60,
            "reporting_deadline_seconds": 600,
        });
        assert_eq!(awaited(policy.clone(), Phase::Selecting { since: SINCE }, false, 0, 0), until(60, 5, 5));
        let reporting = Phase::Reporting { since: SINCE, cohort: 7, asked: None };
        assert_eq!(awaited(policy, reporting, false, 2, 5), until(600, 5, 5));
    }

    #[test]
    fn an_asked_cohort_has_a_short_grace() {
        let policy = json!({
            "kind": "aggressive_synchronous", "cohort": 10, "minimum_cohort": 3, "grace_seconds": 20,
            "reporting_deadline_seconds": 600,
        });
        let reporting = |asked| Phase::Reporting { since: SINCE, cohort: 10, asked };
        assert_eq!(awaited(policy.clone(), reporting(None), false, 4, 6), until(600, 10, 3));
        let asked = Some(SINCE.plus_seconds(100));
        assert_eq!(awaited(policy, reporting(asked), false, 5, 5), until(120, 10, 3));
    }

    #[test]
    fn a_flow_waits_for_updates_or_for_the_end_of_its_slot() {
        let collecting = || Phase::Collecting { since: SINCE };
        let buffered = json!({ "kind": "buffered", "buffer_goal": 10, "concurrency": 20 });
        let nothing_else = Some(Awaited { needed: Some(10), until: None, needed_then: None });
        assert_eq!(awaited(buffered, collecting(), false, 4, 16), nothing_else);
        let bounded =
            json!({ "kind": "buffered", "buffer_goal": 10, "concurrency": 20, "commit_after_seconds": 30 });
        assert_eq!(awaited(bounded, collecting(), false, 4, 16), until(30, 10, 1));
        let slots = json!({ "kind": "semi_synchronous", "slot_seconds": 300, "concurrency": 20, "minimum_cohort": 2 });
        assert_eq!(awaited(slots, collecting(), false, 0, 16), until(300, None, 2));
    }

    #[test]
    fn nothing_is_said_where_the_clocks_of_clients_decide() {
        let policy = json!({ "kind": "stale_synchronous", "bound": 3, "concurrency": 20 });
        let choice: Result<SchedulingChoice, _> = serde_json::from_value(policy.clone());
        assert!(choice.is_ok(), "{choice:?}");
        assert_eq!(awaited(policy, Phase::Collecting { since: SINCE }, false, 0, 3), None);
    }
}
