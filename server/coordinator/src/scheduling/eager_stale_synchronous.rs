use serde::{Deserialize, Serialize};

use super::{
    CommitDecision, Facts, Flow, Outstanding, SchedulingPolicy, StaleSynchronous, Staleness, StartDecision,
};
use crate::{participation::Waiting, task::Fault};

/// The eager stale synchronous parallel: [`StaleSynchronous`], and a client that waits is offered the newest version
/// before it asks for it, so that it has it at hand when it starts (Dai et al. 2015, "High-performance distributed ML
/// at scale through parameter server consistency models", section 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EagerStaleSynchronous(pub StaleSynchronous);

impl SchedulingPolicy for EagerStaleSynchronous {
    fn validate(&self, faults: &mut Vec<Fault>) {
        self.0.validate(faults);
    }

    fn updates(&self) -> (u64, u64) {
        self.0.updates()
    }

    fn concurrency(&self) -> u64 {
        self.0.concurrency()
    }

    fn staleness(&self) -> Staleness {
        self.0.staleness()
    }

    fn flow(&self) -> Option<Flow> {
        self.0.flow().map(|flow| Flow { offers_versions: true, ..flow })
    }

    fn may_start(&self, facts: &Facts<'_>, client: &Waiting) -> bool {
        self.0.may_start(facts, client)
    }

    fn start(&self, facts: &Facts<'_>, waiting: u64) -> StartDecision {
        self.0.start(facts, waiting)
    }

    fn commit(&self, facts: &Facts<'_>) -> CommitDecision {
        self.0.commit(facts)
    }

    fn drops(&self, facts: &Facts<'_>, outstanding: &Outstanding) -> bool {
        self.0.drops(facts, outstanding)
    }

    fn first_clock(&self, facts: &Facts<'_>) -> u64 {
        self.0.first_clock(facts)
    }

    fn assignment_milliseconds(&self) -> u64 {
        self.0.assignment_milliseconds()
    }
}
