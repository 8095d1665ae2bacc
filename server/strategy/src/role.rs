use std::fmt;

/// A part of a task that a component can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It puts the clients that wait in an order of preference.
    Selection,
    /// It combines updates.
    Aggregator,
    /// It changes the model by the aggregate.
    Finalizer,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Selection, Role::Aggregator, Role::Finalizer];

    /// Finds a role by its name.
    ///
    /// # Errors
    /// If no role has the name.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| "it must be selection, aggregator or finalizer".to_owned())
    }

    /// Returns the name of the interface that a component must export, and of the task's table.
    pub fn name(self) -> &'static str {
        match self {
            Role::Selection => "selection",
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
