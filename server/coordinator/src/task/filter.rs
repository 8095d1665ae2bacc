use folkmoot_protocol::{PopulationName, TaskId};

use super::{TaskDescription, TaskState};

/// A filter for tasks. Tasks match if they satisfy every given condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The name of the task's state.
    pub state: Option<String>,
    /// The population that the task belongs to.
    pub population: Option<PopulationName>,
    /// A part of the task's name, case-insensitive.
    pub name: Option<String>,
    /// The task's whole name, or the beginning of its id. Both are case-insensitive.
    pub called: Option<String>,
}

impl TaskFilter {
    /// Returns whether a task matches.
    pub fn passes(&self, id: TaskId, description: &TaskDescription, state: TaskState) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state.name())
            && self.population.as_ref().is_none_or(|population| *population == description.population)
            && self
                .name
                .as_ref()
                .is_none_or(|name| description.name.to_lowercase().contains(&name.to_lowercase()))
            && self.called.as_ref().map(|called| called.to_lowercase()).is_none_or(|called| {
                description.name.to_lowercase() == called || id.to_string().starts_with(&called)
            })
    }
}
