//! By what a task's rounds decide.

use folkmoot_coordinator::{
    round::{Purpose, Rules},
    scheduling::{Sampled, SchedulingChoice, SchedulingPolicy, Synchronous},
    selection::SelectionChoice,
};
use folkmoot_storage::TaskRecord;

/// By what a task's rounds of one purpose decide.
pub enum TaskRules<'a> {
    /// As the task says.
    Training(&'a TaskRecord),
    /// As the task says, where its privacy rests on how rounds are drawn.
    Sampled(&'a TaskRecord, Sampled),
    /// As its evaluation says.
    Evaluation(&'a TaskRecord, Synchronous),
}

/// The draw of an evaluation round.
const UNIFORM: SelectionChoice = SelectionChoice::Uniform;

impl TaskRules<'_> {
    /// Returns the rules.
    pub fn borrow(&self) -> Rules<'_> {
        let (task, policy, selection): (_, &dyn SchedulingPolicy, _) = match self {
            TaskRules::Training(task) => {
                (task, task.description.scheduling.policy(), &task.description.selection)
            }
            TaskRules::Sampled(task, policy) => (task, policy, &task.description.selection),
            TaskRules::Evaluation(task, policy) => (task, policy, &UNIFORM),
        };
        Rules { policy, selection, token_share_max: task.description.token_share_max }
    }
}

/// Returns by what a task's rounds of this purpose decide.
pub fn rules(task: &TaskRecord, purpose: Purpose) -> TaskRules<'_> {
    let federated = task.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
    match (purpose, federated, task.description.sampled()) {
        (Purpose::Evaluation, Some(federated), _) => TaskRules::Evaluation(task, federated.policy()),
        (_, _, Some(sampled)) => TaskRules::Sampled(task, sampled),
        _ => TaskRules::Training(task),
    }
}

/// Says whether clients of this policy start and report all the time.
pub fn is_flow(scheduling: &SchedulingChoice) -> bool {
    scheduling.policy().flow().is_some()
}
