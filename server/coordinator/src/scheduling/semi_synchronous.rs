use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    COHORT_MAX, CommitDecision, Facts, Flow, Outstanding, SchedulingPolicy, Staleness,
    buffered::{is_too_old, unless_someone_would_be_too_old, validate_maximum},
    check::Check,
};

/// Fixed time slots: the updates that arrived by the end of a slot make a commit (Stripelis et al. 2022,
/// "Semi-synchronous federated learning for energy-efficient training and accelerated convergence").
///
/// Fast clients may complete several assignments in a slot. A slow client continues into the next slot, where its
/// update is stale. If the plan's `time_limit_seconds` equals the slot length, every client trains for one slot and
/// sends its partial update. A slot with too few updates ends as soon as there are enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SemiSynchronous {
    /// The length of a slot, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [300])))]
    pub slot_seconds: u64,
    /// The number of clients that train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// The minimum number of updates for a commit.
    #[serde(default = "default_minimum_cohort")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub minimum_cohort: u64,
    /// The treatment of updates from older versions.
    #[serde(default)]
    pub staleness: Staleness,
    /// Seconds until an assignment is dropped. The default is ten slots.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [3000])))]
    pub reporting_deadline_seconds: Option<u64>,
}

fn default_minimum_cohort() -> u64 {
    1
}

/// The default time until an assignment is dropped, in slots.
const SLOTS_OF_AN_ASSIGNMENT: u64 = 10;

impl SemiSynchronous {
    fn reporting_deadline_seconds(&self) -> u64 {
        self.reporting_deadline_seconds.unwrap_or(self.slot_seconds.saturating_mul(SLOTS_OF_AN_ASSIGNMENT))
    }
}

impl SchedulingPolicy for SemiSynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.seconds("slot_seconds", self.slot_seconds);
        check.clients("concurrency", self.concurrency);
        let (minimum, concurrency) = (self.minimum_cohort, self.concurrency);
        check.that(
            (1..=concurrency.max(1)).contains(&minimum),
            "minimum_cohort",
            format!("it is {minimum}, with a concurrency of {concurrency}"),
            "it must be 1 to `concurrency`",
        );
        if let Some(seconds) = self.reporting_deadline_seconds {
            check.seconds("reporting_deadline_seconds", seconds);
        }
        self.staleness.check(&mut check);
        validate_maximum(&self.staleness, &mut check);
    }

    fn updates(&self) -> (u64, u64) {
        (self.minimum_cohort, COHORT_MAX)
    }

    fn concurrency(&self) -> u64 {
        self.concurrency
    }

    fn staleness(&self) -> Staleness {
        self.staleness
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::of(None))
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        let is_over = facts.elapsed() >= self.slot_seconds * 1000;
        if is_over && facts.counts.accepted >= self.minimum_cohort {
            unless_someone_would_be_too_old(&self.staleness, facts)
        } else {
            CommitDecision::Wait
        }
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        is_too_old(&self.staleness, facts, outstanding)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds() * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples::some_facts, *};

    #[test]
    fn a_slot_ends_by_the_clock_and_not_before_there_is_enough() {
        let policy = SemiSynchronous {
            slot_seconds: 60,
            concurrency: 8,
            minimum_cohort: 2,
            staleness: Staleness::default(),
            reporting_deadline_seconds: None,
        };
        assert_eq!(policy.assignment_milliseconds(), 600_000);
        for (accepted, seconds, expected) in [
            (8, 59, CommitDecision::Wait),
            (2, 60, CommitDecision::Commit),
            (1, 60, CommitDecision::Wait),
            (2, 75, CommitDecision::Commit),
        ] {
            let mut facts = some_facts(1, &[1, 0]);
            facts.counts.accepted = accepted;
            facts.now = facts.since.plus_milliseconds(seconds * 1000);
            assert_eq!(policy.commit(&facts), expected, "{accepted} after {seconds} s");
        }
    }
}
