use folkmoot_protocol::{Fault, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    CommitDecision, Facts, ReportCounts, SchedulingPolicy, StartDecision,
    check::Check,
    synchronous::{default_reporting_deadline_seconds, default_selection_deadline_seconds, start_cohort},
};
use crate::abandon_reason::AbandonReason;

/// Synchronous rounds that ask their stragglers. When the first clients are done, the others are asked to send
/// what they have computed so far. The round waits for these partial updates.
///
/// This is A-BSP (Wang et al. 2018, "Aggressive Synchronization with Partial Processing for Iterative ML Jobs on
/// Clusters", section 3). No work is discarded, so there is no over-selection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AggressiveSynchronous {
    /// The number of clients drawn for a round.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [100])))]
    pub cohort: u64,
    /// The number of updates after which the other clients are asked to send. The default is half of the cohort,
    /// rounded up. If a round has fewer clients than `cohort`, or some drop out, the number is reduced
    /// proportionally.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [50])))]
    pub ask_at: Option<u64>,
    /// The number of seconds that the asked clients have to send their updates. Later updates are not combined.
    #[serde(default = "default_grace_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub grace_seconds: u64,
    /// The minimum number of updates for a commit. The default is half of the cohort, rounded up.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [50])))]
    pub minimum_cohort: Option<u64>,
    /// Seconds to wait for enough clients.
    #[serde(default = "default_selection_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub selection_deadline_seconds: u64,
    /// The number of seconds after the draw for which the round accepts updates, whether or not it has asked for them.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

fn default_grace_seconds() -> u64 {
    30
}

impl AggressiveSynchronous {
    /// Returns the number of updates of a full cohort after which the others are asked.
    pub fn ask_at(&self) -> u64 {
        self.ask_at.unwrap_or(self.cohort.div_ceil(2))
    }

    /// Returns the minimum number of updates for a commit.
    pub fn minimum_cohort(&self) -> u64 {
        self.minimum_cohort.unwrap_or(self.cohort.div_ceil(2))
    }

    /// Returns the latest moment at which a reporting round ends, regardless of the updates: its deadline, or the end
    /// of the grace period if its clients were asked.
    pub fn closes_at(&self, since: Timestamp, asked: Option<Timestamp>) -> Timestamp {
        let deadline = since.plus_seconds(self.reporting_deadline_seconds);
        asked.map_or(deadline, |asked| deadline.min(asked.plus_seconds(self.grace_seconds)))
    }

    /// Returns whether enough of the remaining clients are done to ask the others.
    fn asks_at(&self, counts: ReportCounts) -> bool {
        let left = u128::from(counts.accepted) + u128::from(counts.outstanding);
        let share = u128::from(self.ask_at()) * left.min(u128::from(self.cohort));
        counts.accepted > 0 && u128::from(counts.accepted) * u128::from(self.cohort) >= share
    }
}

impl SchedulingPolicy for AggressiveSynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.clients("cohort", self.cohort);
        let cohort = self.cohort.max(1);
        for (field, count) in [("ask_at", self.ask_at()), ("minimum_cohort", self.minimum_cohort())] {
            // A wrong cohort is one fault; do not report its consequences.
            let is_right = self.cohort == 0 || (1..=cohort).contains(&count);
            let message = format!("it is {count}, with a cohort of {cohort}");
            check.that(is_right, field, message, "it must be 1 to `cohort`");
        }
        check.seconds("grace_seconds", self.grace_seconds);
        check.seconds("selection_deadline_seconds", self.selection_deadline_seconds);
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
    }

    fn updates(&self) -> (u64, u64) {
        (self.minimum_cohort(), self.cohort)
    }

    fn concurrency(&self) -> u64 {
        self.cohort
    }

    fn asks(&self) -> bool {
        true
    }

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        let is_late = facts.elapsed() >= self.selection_deadline_seconds * 1000;
        start_cohort(waiting, self.cohort, self.updates(), is_late)
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        let counts = facts.counts;
        let is_over = counts.outstanding == 0 || facts.elapsed() >= self.reporting_deadline_seconds * 1000;
        let grace_is_over =
            facts.asked.is_some_and(|asked| facts.now.milliseconds_since(asked) >= self.grace_seconds * 1000);
        if (is_over || grace_is_over) && counts.accepted >= self.minimum_cohort() {
            CommitDecision::Commit
        } else if is_over || counts.accepted + counts.outstanding < self.minimum_cohort() {
            CommitDecision::Abandon(AbandonReason::TooFewReports)
        } else if facts.asked.is_none() && self.asks_at(counts) {
            CommitDecision::Ask
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
    use super::{super::samples::some_facts, *};

    fn policy() -> AggressiveSynchronous {
        AggressiveSynchronous {
            cohort: 10,
            ask_at: None,
            grace_seconds: 30,
            minimum_cohort: Some(3),
            selection_deadline_seconds: 60,
            reporting_deadline_seconds: 600,
        }
    }

    /// Facts this many seconds after the draw. `asked` is the second at which the others were asked.
    fn facts(seconds: u64, asked: Option<u64>, accepted: u64, outstanding: u64) -> Facts<'static> {
        let facts = some_facts(0, &[]);
        let after = |seconds| facts.since.plus_milliseconds(seconds * 1000);
        let counts = ReportCounts { accepted, outstanding, dropped: 10 - accepted - outstanding };
        Facts { now: after(seconds), asked: asked.map(after), counts, ..facts }
    }

    fn commit(seconds: u64, asked: Option<u64>, accepted: u64, outstanding: u64) -> CommitDecision {
        policy().commit(&facts(seconds, asked, accepted, outstanding))
    }

    #[test]
    fn a_round_draws_its_cohort_and_no_more() {
        let start = |waiting, seconds| policy().start(&facts(seconds, None, 0, 0), waiting);
        assert_eq!(start(9, 59), StartDecision::Wait);
        assert_eq!(start(10, 0), StartDecision::Draw { cohort: 10 });
        assert_eq!(start(500, 0), StartDecision::Draw { cohort: 10 });
        assert_eq!(start(3, 60), StartDecision::Draw { cohort: 3 });
        assert_eq!(start(2, 60), StartDecision::Abandon(AbandonReason::TooFewClients));
    }

    #[test]
    fn the_others_are_asked_once_when_half_are_done() {
        assert_eq!(commit(100, None, 4, 6), CommitDecision::Wait);
        assert_eq!(commit(100, None, 5, 5), CommitDecision::Ask);
        assert_eq!(commit(101, Some(100), 6, 4), CommitDecision::Wait);
        assert_eq!(commit(101, Some(100), 10, 0), CommitDecision::Commit, "all updates are there");
        assert_eq!(commit(100, None, 10, 0), CommitDecision::Commit, "no client is left to ask");
        let late = AggressiveSynchronous { ask_at: Some(9), ..policy() };
        assert_eq!(late.commit(&facts(0, None, 8, 2)), CommitDecision::Wait);
        assert_eq!(late.commit(&facts(0, None, 9, 1)), CommitDecision::Ask);
    }

    #[test]
    fn a_smaller_round_asks_after_proportionally_fewer_updates() {
        // Four of 10 dropped out: half of the remaining six is three.
        assert_eq!(commit(0, None, 2, 4), CommitDecision::Wait);
        assert_eq!(commit(0, None, 3, 3), CommitDecision::Ask);
        let late = AggressiveSynchronous { ask_at: Some(9), ..policy() };
        assert_eq!(late.commit(&facts(0, None, 6, 1)), CommitDecision::Wait);
        let nearly = AggressiveSynchronous { ask_at: Some(8), ..policy() };
        assert_eq!(nearly.commit(&facts(0, None, 6, 1)), CommitDecision::Ask);
        let eager = AggressiveSynchronous { ask_at: Some(1), ..policy() };
        assert_eq!(eager.commit(&facts(0, None, 0, 10)), CommitDecision::Wait, "one client must be done");
        assert_eq!(eager.commit(&facts(0, None, 1, 9)), CommitDecision::Ask);
    }

    #[test]
    fn the_grace_and_the_deadline_end_a_round() {
        assert_eq!(commit(129, Some(100), 5, 5), CommitDecision::Wait);
        assert_eq!(commit(130, Some(100), 5, 5), CommitDecision::Commit);
        assert_eq!(commit(600, Some(590), 5, 5), CommitDecision::Commit, "the deadline is earlier");
        assert_eq!(commit(599, None, 4, 6), CommitDecision::Wait);
        assert_eq!(commit(600, None, 4, 6), CommitDecision::Commit);
        assert_eq!(commit(600, None, 2, 8), CommitDecision::Abandon(AbandonReason::TooFewReports));
        assert_eq!(commit(0, None, 1, 1), CommitDecision::Abandon(AbandonReason::TooFewReports));
        // The grace period ended with too few updates: the round keeps waiting for the clients that still train.
        assert_eq!(commit(130, Some(100), 2, 3), CommitDecision::Wait);
        assert_eq!(commit(131, Some(100), 3, 2), CommitDecision::Commit);
        let since = Timestamp(5_000);
        let closes = |asked: Option<u64>| policy().closes_at(since, asked.map(Timestamp)).0;
        assert_eq!([None, Some(9_000), Some(600_000)].map(closes), [605_000, 39_000, 605_000]);
    }

    #[test]
    fn wrong_numbers_are_named() {
        let faults = |policy: AggressiveSynchronous| {
            let mut faults = Vec::new();
            policy.validate(&mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(faults(policy()), [""; 0]);
        assert_eq!(faults(AggressiveSynchronous { cohort: 0, ..policy() }), ["scheduling.cohort"]);
        let wrong =
            AggressiveSynchronous { ask_at: Some(11), minimum_cohort: Some(0), grace_seconds: 0, ..policy() };
        let fields = ["scheduling.ask_at", "scheduling.minimum_cohort", "scheduling.grace_seconds"];
        assert_eq!(faults(wrong), fields);
    }
}
