//! The scheduling and selection rules of a task's rounds.

use folkmoot_coordinator::{
    round::{Purpose, Rules},
    scheduling::{Sampled, SchedulingChoice, SchedulingPolicy, Synchronous},
    selection::SelectionChoice,
    task::SecureAggregation,
};
use folkmoot_storage::TaskRecord;

/// The rules of a task's training rounds or evaluation rounds.
pub enum TaskRules<'a> {
    /// The task's own scheduling and selection.
    Training(&'a TaskRecord),
    /// The task's own scheduling, with the draw that its privacy amplification requires.
    Sampled(&'a TaskRecord, Sampled),
    /// The rules of the task's federated evaluation.
    Evaluation(&'a TaskRecord, Synchronous),
}

/// The selection policy of evaluation rounds.
const UNIFORM: SelectionChoice = SelectionChoice::Uniform;

impl TaskRules<'_> {
    /// Returns the rules as borrowed policies, the form in which a round uses them.
    pub fn borrow(&self) -> Rules<'_> {
        let (task, policy, selection): (_, &dyn SchedulingPolicy, _) = match self {
            TaskRules::Training(task) => {
                (task, task.description.scheduling.policy(), &task.description.selection)
            }
            TaskRules::Sampled(task, policy) => (task, policy, &task.description.selection),
            TaskRules::Evaluation(task, policy) => (task, policy, &UNIFORM),
        };
        let secure = match self {
            TaskRules::Evaluation(..) => None,
            _ => task.description.protection.exchange(),
        };
        Rules {
            policy,
            selection,
            token_share_max: task.description.token_share_max,
            secure_step_milliseconds: secure.map(SecureAggregation::step_milliseconds),
        }
    }
}

/// Returns the rules of a task's rounds with the given purpose.
pub fn rules(task: &TaskRecord, purpose: Purpose) -> TaskRules<'_> {
    let federated = task.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
    match (purpose, federated, task.description.sampled()) {
        (Purpose::Evaluation, Some(federated), _) => TaskRules::Evaluation(task, federated.policy()),
        (_, _, Some(sampled)) => TaskRules::Sampled(task, sampled),
        _ => TaskRules::Training(task),
    }
}

/// Returns whether a policy is a flow, in which clients start and report continuously.
pub fn is_flow(scheduling: &SchedulingChoice) -> bool {
    scheduling.policy().flow().is_some()
}
