use folkmoot_engine::TrainingOutcome;
use folkmoot_protocol::{Plan, messages::Assignment};

/// What was trained or measured, and what is needed to make an update of it.
#[derive(Debug)]
pub struct FinishedWork {
    /// What was asked for.
    pub assignment: Assignment,
    /// By which plan.
    pub plan: Plan,
    /// An evaluation has neither a delta nor weights.
    pub outcome: TrainingOutcome,
    /// The examples that the client holds.
    pub held_example_count: u64,
}
