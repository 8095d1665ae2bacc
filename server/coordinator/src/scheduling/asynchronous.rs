use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    CommitDecision, Facts, Flow, Outstanding, SchedulingPolicy, Staleness,
    buffered::{flow, is_too_old, most, unless_someone_would_be_too_old, validate_maximum},
    check::Check,
    synchronous::default_reporting_deadline_seconds,
};

/// Fully asynchronous training: every update makes a commit. If staleness is bounded and fast clients wait for
/// slow ones, the updates that waited are committed together.
///
/// With uncorrected deltas it is Downpour SGD (Dean et al. 2012, "Large scale distributed deep networks"). With
/// the correction `model_mixing` and a server learning rate below 1, it is FedAsync (Xie et al. 2019, algorithm
/// 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Asynchronous {
    /// The number of clients that train at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [200])))]
    pub concurrency: u64,
    /// The treatment of updates from older versions.
    #[serde(default)]
    pub staleness: Staleness,
    /// Seconds until an assignment is dropped.
    #[serde(default = "default_reporting_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000)))]
    pub reporting_deadline_seconds: u64,
}

impl SchedulingPolicy for Asynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        let mut check = Check(faults);
        check.clients("concurrency", self.concurrency);
        check.seconds("reporting_deadline_seconds", self.reporting_deadline_seconds);
        self.staleness.check(&mut check);
        validate_maximum(&self.staleness, &mut check);
    }

    fn updates(&self) -> (u64, u64) {
        (1, most(1, &self.staleness))
    }

    fn concurrency(&self) -> u64 {
        self.concurrency
    }

    fn staleness(&self) -> Staleness {
        self.staleness
    }

    fn flow(&self) -> Option<Flow> {
        Some(flow(1, &self.staleness))
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        match facts.counts.accepted {
            0 => CommitDecision::Wait,
            _ => unless_someone_would_be_too_old(&self.staleness, facts),
        }
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        is_too_old(&self.staleness, facts, outstanding)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.reporting_deadline_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{StartDecision, samples::some_facts},
        *,
    };

    #[test]
    fn every_update_commits() {
        let policy =
            Asynchronous { concurrency: 4, staleness: Staleness::default(), reporting_deadline_seconds: 600 };
        let mut facts = some_facts(9, &[9, 2]);
        assert_eq!(policy.commit(&facts), CommitDecision::Wait);
        facts.counts.accepted = 1;
        assert_eq!(policy.commit(&facts), CommitDecision::Commit);
        assert_eq!(policy.start(&facts, 9), StartDecision::Draw { cohort: 2 });
    }
}
