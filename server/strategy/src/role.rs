use std::fmt;

/// A part of a task that a component can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It combines updates.
    Aggregator,
    /// It changes the model by the aggregate.
    Finalizer,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 2] = [Role::Aggregator, Role::Finalizer];

    /// Returns the name of the interface that a component must export, and of the task's table.
    pub fn name(self) -> &'static str {
        match self {
            Role::Aggregator => "aggregator",
            Role::Finalizer => "finalizer",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
