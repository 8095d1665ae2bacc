use folkmoot_protocol::PopulationName;

use super::{TaskDescription, TaskState};

/// Which tasks are listed: those for which all holds that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The name of the state that they are in.
    pub state: Option<String>,
    /// Whose clients train them.
    pub population: Option<PopulationName>,
    /// A part of their name; upper and lower case are the same.
    pub name: Option<String>,
}

impl TaskFilter {
    /// Says whether a task passes.
    pub fn passes(&self, description: &TaskDescription, state: TaskState) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state.name())
            && self.population.as_ref().is_none_or(|population| *population == description.population)
            && self
                .name
                .as_ref()
                .is_none_or(|name| description.name.to_lowercase().contains(&name.to_lowercase()))
    }
}
