use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    AtBound, Clocks, CommitDecision, Correction, Facts, Flow, Outstanding, SchedulingPolicy, Staleness,
    StalenessWeight, check::Check, synchronous::default_reporting_deadline_seconds,
};
use crate::participation::Waiting;

/// Stale synchronous parallel: every update makes a commit and advances its client's clock. No client starts
/// while it is more than `bound` clocks ahead of the slowest (Ho et al. 2013, "More effective distributed ML via
/// a stale synchronous parallel parameter server").
///
/// A bound of 0 is bulk-synchronous: every client sends one update per clock. An infinite bound is fully asynchronous.
/// A client takes part if it trains, if it waits and may be drawn, or if it was seen within `absence_seconds`. A client
/// that joins starts with the slowest clock of the clients that take part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StaleSynchronous {
    /// The maximum number of clocks that a client may be ahead of the slowest: the paper's s.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [4])))]
    pub bound: u64,
    /// The behaviour at the bound: fast clients wait, or slow ones are dropped and restart with the others.
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
    /// Seconds after which a silent client no longer holds the others back.
    #[serde(default = "default_absence_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub absence_seconds: u64,
    /// Seconds until an assignment is dropped.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

pub(super) fn constant() -> StalenessWeight {
    StalenessWeight::Constant
}

pub(super) fn default_absence_seconds() -> u64 {
    60
}

impl SchedulingPolicy for StaleSynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.clients("concurrency", self.concurrency);
        check.seconds("absence_seconds", self.absence_seconds);
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
        let absence_milliseconds = Some(self.absence_seconds * 1000);
        Some(Flow { absence_milliseconds, ..Flow::of(Some(1)) })
    }

    fn may_start(&self, facts: &Facts<'_>, client: &Waiting) -> bool {
        self.at_bound == AtBound::Reject
            || Clocks(facts.members).lead(client.candidate.client_id) <= self.bound
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        if facts.counts.accepted > 0 { CommitDecision::Commit } else { CommitDecision::Wait }
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        self.at_bound == AtBound::Reject && Clocks(facts.members).lag(outstanding.client_id) > self.bound
    }

    fn first_clock(&self, facts: &Facts<'_>) -> u64 {
        let clocks = Clocks(facts.members);
        match self.at_bound {
            AtBound::Delay => clocks.slowest(),
            // Slower clients are dropped, so they hold nobody back.
            AtBound::Reject => clocks.slowest().max(clocks.fastest().saturating_sub(self.bound)),
        }
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{member, some_facts, waiting},
        *,
    };

    fn policy(bound: u64, at_bound: AtBound) -> StaleSynchronous {
        StaleSynchronous {
            bound,
            at_bound,
            concurrency: 10,
            staleness_weight: constant(),
            correction: Correction::None,
            absence_seconds: 60,
            reporting_deadline_seconds: 600,
        }
    }

    #[test]
    fn the_fast_wait_for_the_slow() {
        let members = [member(0, 3), member(1, 5), member(2, 4)];
        let facts = Facts { members: &members, ..some_facts(12, &[7]) };
        let may_start = |bound, client| policy(bound, AtBound::Delay).may_start(&facts, &waiting(client));
        assert_eq!([0, 1, 2, 9].map(|client| may_start(0, client)), [true, false, false, true]);
        assert_eq!([0, 1, 2, 9].map(|client| may_start(1, client)), [true, false, true, true]);
        assert_eq!([0, 1, 2, 9].map(|client| may_start(u64::MAX, client)), [true; 4]);
        assert_eq!(policy(1, AtBound::Delay).first_clock(&facts), 3);
    }

    #[test]
    fn or_the_slow_are_dropped() {
        let members = [member(0, 3), member(1, 5)];
        let facts = Facts { members: &members, ..some_facts(12, &[7]) };
        // The outstanding assignment belongs to client 0.
        let drops = |bound| policy(bound, AtBound::Reject).drops(&facts, &facts.outstanding[0]);
        assert_eq!([0, 1, 2].map(drops), [true, true, false]);
        assert!(policy(0, AtBound::Reject).may_start(&facts, &waiting(1)));
        assert_eq!(policy(1, AtBound::Reject).first_clock(&facts), 4);
    }
}
