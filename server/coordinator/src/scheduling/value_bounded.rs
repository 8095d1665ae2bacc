use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    AtBound, CommitDecision, Correction, Facts, Flow, Outstanding, SchedulingPolicy, Staleness,
    StalenessWeight, check::Check, stale_synchronous::constant,
    synchronous::default_reporting_deadline_seconds,
};
use crate::participation::Waiting;

/// Asynchronous training that bounds the change that clients have missed, instead of a number of versions. This
/// is value-bounded asynchronous parallel (Wei et al. 2013; Dai et al. 2015, "High-performance distributed ML at
/// scale through parameter server consistency models", section 2.2).
///
/// The missed change is the length of the model's path since the client's base version, in L2. It is the sum of the
/// commits' norms, which is at least the distance between the two versions. While it exceeds `norm_max` for any
/// training client, no client starts, because every start would move the model further. Alternatively, that client's
/// work is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueBounded {
    /// The largest change that a training client may have missed, as an L2 norm.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub norm_max: f64,
    /// The behaviour at the bound: no client starts, or the work that is too far behind is dropped.
    #[serde(default)]
    pub at_bound: AtBound,
    /// The number of clients that train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// The weight of updates from older versions.
    #[serde(default = "constant")]
    pub staleness_weight: StalenessWeight,
    /// The correction of updates from older versions.
    #[serde(default)]
    pub correction: Correction,
    /// Seconds until an assignment is dropped.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

impl ValueBounded {
    fn exceeds(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        facts.change_since(outstanding.base_version) > self.norm_max
    }
}

impl SchedulingPolicy for ValueBounded {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.positive("norm_max", self.norm_max);
        check.clients("concurrency", self.concurrency);
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
        self.staleness().check(&mut check);
    }

    fn updates(&self) -> (u64, u64) {
        (1, 1)
    }

    fn concurrency(&self) -> u64 {
        self.concurrency
    }

    fn staleness(&self) -> Staleness {
        Staleness { weight: self.staleness_weight, correction: self.correction, ..Staleness::ignored() }
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow { needs_changes: true, ..Flow::of(Some(1)) })
    }

    fn may_start(&self, facts: &Facts<'_>, _client: &Waiting) -> bool {
        self.at_bound == AtBound::Reject || !facts.outstanding.iter().any(|one| self.exceeds(facts, one))
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        if facts.counts.accepted > 0 { CommitDecision::Commit } else { CommitDecision::Wait }
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        self.at_bound == AtBound::Reject && self.exceeds(facts, outstanding)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{some_facts, waiting},
        *,
    };

    #[test]
    fn what_was_missed_is_bounded() {
        let policy = |norm_max, at_bound| ValueBounded {
            norm_max,
            at_bound,
            concurrency: 4,
            staleness_weight: constant(),
            correction: Correction::None,
            reporting_deadline_seconds: 600,
        };
        // One client is two versions behind; the last two steps had the lengths 0.5 and 0.25.
        let facts = Facts { changes: &[0.5, 0.25, 1.0], ..some_facts(7, &[7, 5]) };
        assert_eq!(facts.change_since(5), 0.75);
        assert!(facts.change_since(1).is_infinite());
        assert!(policy(0.75, AtBound::Delay).may_start(&facts, &waiting(9)));
        assert!(!policy(0.7, AtBound::Delay).may_start(&facts, &waiting(9)));
        let rejecting = policy(0.7, AtBound::Reject);
        assert!(rejecting.may_start(&facts, &waiting(9)));
        let dropped = facts.outstanding.iter().map(|one| rejecting.drops(&facts, one));
        assert_eq!(dropped.collect::<Vec<_>>(), [false, true]);
    }
}
