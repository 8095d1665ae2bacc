use folkmoot_engine::TrainingOutcome;
use folkmoot_protocol::{Plan, messages::Assignment};

/// The result of a training or an evaluation, with everything needed to build an update from it.
#[derive(Debug)]
pub struct FinishedWork {
    /// The assignment.
    pub assignment: Assignment,
    /// The plan that was carried out.
    pub plan: Plan,
    /// The result. For an evaluation, the delta and the weights are empty.
    pub outcome: TrainingOutcome,
    /// The number of examples that the client holds.
    pub held_example_count: u64,
    /// The bytes to keep for the next training of the task: the client's [`OwnTensors`](crate::OwnTensors). `None` if there are none.
    pub own: Option<Vec<u8>>,
}
