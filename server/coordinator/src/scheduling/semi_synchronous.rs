use serde::{Deserialize, Serialize};

use super::{
    COHORT_MAX, CommitDecision, Facts, Flow, Outstanding, SchedulingPolicy, Staleness, StartDecision,
    buffered::{fill, is_too_old, unless_someone_would_be_too_old, validate_maximum},
    check::Check,
};
use crate::fault::Fault;

/// Fixed time slots: whatever has arrived at the end of a slot makes a commit (Stripelis et al. 2022,
/// "Semi-synchronous federated learning for energy-efficient training and accelerated convergence").
///
/// Fast clients may do more than one assignment in a slot; a slow one goes on into the next, and its update counts
/// there as a stale one. With the plan's `time_limit_seconds` at the slot's length everybody trains for as long as
/// the slot is and sends what it has. A slot in which too little arrived ends as soon as there is enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SemiSynchronous {
    /// The length of a slot.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [300])))]
    pub slot_seconds: u64,
    /// How many clients train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// How few updates still make a commit.
    #[serde(default = "default_minimum_cohort")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub minimum_cohort: u64,
    /// What is made of updates that are based on an old version.
    #[serde(default)]
    pub staleness: Staleness,
    /// Seconds from an assignment to the moment at which it is dropped; by default ten slots.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [3000])))]
    pub reporting_deadline_seconds: Option<u64>,
}

fn default_minimum_cohort() -> u64 {
    1
}

/// Slots after which an assignment is dropped, where nothing else is said.
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
            format!("it is {minimum} of {concurrency} that train at the same time"),
            "it must be 1 to concurrency",
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

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        fill(self.concurrency, facts, waiting)
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
