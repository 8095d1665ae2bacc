use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    AtBound, COHORT_MAX, CommitDecision, Facts, Flow, Outstanding, SchedulingPolicy, Staleness, check::Check,
    synchronous::default_reporting_deadline_seconds,
};

/// Buffered asynchronous rounds. `concurrency` clients train continuously, each starting from the newest version,
/// and every `buffer_goal` updates make a commit (FedBuff: Nguyen et al. 2022, "Federated learning with buffered
/// asynchronous aggregation", algorithm 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Buffered {
    /// The number of updates that make a commit: the paper's K.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [20])))]
    pub buffer_goal: u64,
    /// The number of clients that train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// The treatment of updates from older versions.
    #[serde(default)]
    pub staleness: Staleness,
    /// Seconds after which the available updates are committed, if there are any.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [600])))]
    pub commit_after_seconds: Option<u64>,
    /// Seconds until an assignment is dropped.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

impl SchedulingPolicy for Buffered {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.clients("buffer_goal", self.buffer_goal);
        check.clients("concurrency", self.concurrency);
        if let Some(seconds) = self.commit_after_seconds {
            check.seconds("commit_after_seconds", seconds);
        }
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
        self.staleness.check(&mut check);
        validate_maximum(&self.staleness, &mut check);
    }

    fn updates(&self) -> (u64, u64) {
        let fewest = if self.commit_after_seconds.is_some() { 1 } else { self.buffer_goal };
        (fewest, most(self.buffer_goal, &self.staleness))
    }

    fn concurrency(&self) -> u64 {
        self.concurrency
    }

    fn staleness(&self) -> Staleness {
        self.staleness
    }

    fn flow(&self) -> Option<Flow> {
        Some(flow(self.buffer_goal, &self.staleness))
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        let accepted = facts.counts.accepted;
        let is_late = self.commit_after_seconds.is_some_and(|seconds| facts.elapsed() >= seconds * 1000);
        if accepted >= self.buffer_goal || is_late && accepted > 0 {
            unless_someone_would_be_too_old(&self.staleness, facts)
        } else {
            CommitDecision::Wait
        }
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        is_too_old(&self.staleness, facts, outstanding)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds * 1000
    }
}

/// Returns a flow that commits every `goal` updates. A commit that waits for slow clients includes their updates.
pub(super) fn flow(goal: u64, staleness: &Staleness) -> Flow {
    let updates_max = if waits(staleness).is_some() { None } else { Some(goal) };
    Flow::of(updates_max)
}

/// Returns the maximum number of updates of one commit. While the commit waits for slow clients, fast clients may send
/// several updates each.
pub(super) fn most(goal: u64, staleness: &Staleness) -> u64 {
    if waits(staleness).is_some() { COHORT_MAX } else { goal }
}

/// Returns the staleness bound if commits wait for slow clients.
pub(super) fn waits(staleness: &Staleness) -> Option<u64> {
    staleness.maximum.filter(|_| staleness.at_bound == AtBound::Delay)
}

/// Commits, unless the commit would make an outstanding assignment too old and the policy waits for it. The wait ends
/// at the assignment's deadline.
pub(super) fn unless_someone_would_be_too_old(staleness: &Staleness, facts: &Facts<'_>) -> CommitDecision {
    let would_be = |maximum| facts.outstanding.iter().any(|one| facts.staleness(one.base_version) >= maximum);
    if waits(staleness).is_some_and(would_be) { CommitDecision::Wait } else { CommitDecision::Commit }
}

/// Returns whether an assignment's base version is already too old.
pub(super) fn is_too_old(staleness: &Staleness, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
    staleness.maximum.is_some_and(|maximum| facts.staleness(outstanding.base_version) > maximum)
}

/// Records a fault for a maximum of 0. A commit would wait for all clients that start from the newest version,
/// and clients start continuously.
pub(super) fn validate_maximum(staleness: &Staleness, check: &mut Check<'_>) {
    check.that(
        waits(staleness) != Some(0),
        "staleness.maximum",
        "it is 0, so every commit would wait until no client trains",
        "set it to at least 1, or choose at_bound = \"reject\", or kind = \"synchronous\"",
    );
}

#[cfg(test)]
mod tests {
    use super::{
        super::{StartDecision, samples::some_facts},
        *,
    };

    fn policy(maximum: Option<u64>, at_bound: AtBound) -> Buffered {
        Buffered {
            buffer_goal: 3,
            concurrency: 10,
            staleness: Staleness { maximum, at_bound, ..Staleness::default() },
            commit_after_seconds: Some(30),
            reporting_deadline_seconds: 600,
        }
    }

    #[test]
    fn places_are_filled_and_the_goal_commits() {
        let policy = policy(None, AtBound::Delay);
        let facts = some_facts(5, &[5, 5, 4]);
        assert_eq!(policy.start(&facts, 4), StartDecision::Draw { cohort: 4 });
        assert_eq!(policy.start(&facts, 40), StartDecision::Draw { cohort: 7 });
        assert_eq!(policy.start(&facts, 0), StartDecision::Wait);
        for (accepted, seconds, expected) in [
            (2, 0, CommitDecision::Wait),
            (3, 0, CommitDecision::Commit),
            (0, 31, CommitDecision::Wait),
            (1, 31, CommitDecision::Commit),
        ] {
            let mut facts = facts;
            facts.counts.accepted = accepted;
            facts.now = facts.since.plus_milliseconds(seconds * 1000);
            assert_eq!(policy.commit(&facts), expected, "{accepted} after {seconds} s");
        }
    }

    #[test]
    fn the_bound_delays_the_commit_or_drops_the_slow() {
        let mut facts = some_facts(5, &[5, 4, 3]);
        facts.counts.accepted = 3;
        assert_eq!(policy(Some(3), AtBound::Delay).commit(&facts), CommitDecision::Commit);
        assert_eq!(policy(Some(2), AtBound::Delay).commit(&facts), CommitDecision::Wait);
        let rejecting = policy(Some(2), AtBound::Reject);
        assert_eq!(rejecting.commit(&facts), CommitDecision::Commit);
        facts.version = 6;
        let dropped = facts.outstanding.iter().map(|one| rejecting.drops(&facts, one));
        assert_eq!(dropped.collect::<Vec<_>>(), [false, false, true]);
        assert_eq!([0, 2, 3].map(|s| rejecting.staleness_weight(s).is_some()), [true, true, false]);
    }
}
