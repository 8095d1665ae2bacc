use std::sync::Arc;

use folkmoot_aggregation::Component;

use super::{
    Aggregation, AggregationCommit, Compiled, Finalization, FinalizationCommit, Role, StrategyError,
};

/// A compiled component with the settings and limits of a task.
#[derive(Clone)]
pub struct Strategy {
    compiled: Arc<Compiled>,
    settings: String,
    fuel_max: u64,
    memory_mib_max: u32,
}

impl Strategy {
    /// Puts a compiled component and a task's choice together.
    pub fn new(compiled: Arc<Compiled>, choice: &Component) -> Self {
        Self {
            compiled,
            settings: choice.settings.clone(),
            fuel_max: choice.fuel_max,
            memory_mib_max: choice.memory_mib_max,
        }
    }

    /// Returns the compiled component.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Returns the task's settings for the component.
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// Returns the largest number of instructions of a commit.
    pub fn fuel_max(&self) -> u64 {
        self.fuel_max
    }

    /// Returns the largest memory, in MiB.
    pub fn memory_mib_max(&self) -> u32 {
        self.memory_mib_max
    }

    /// Lets the component check the settings for a role. Takes as long as the component does, at most `fuel_max` instructions.
    ///
    /// # Errors
    /// If the component does not have the role, refuses the settings, or fails.
    pub fn check(&self, role: Role) -> Result<(), StrategyError> {
        match role {
            Role::Aggregator => Aggregation::check(self),
            Role::Finalizer => Finalization::check(self),
        }
    }

    /// Begins a commit that combines updates. `state` is the result of [`Aggregation::finish`] for the last version, or empty.
    ///
    /// # Errors
    /// If the component cannot be started, or its function `begin` fails.
    pub fn aggregate(&self, commit: &AggregationCommit, state: &[u8]) -> Result<Aggregation, StrategyError> {
        Aggregation::begin(self, commit, state)
    }

    /// Begins a commit that changes the model.
    ///
    /// # Errors
    /// If the component cannot be started, or its function `begin` fails.
    pub fn finalize(&self, commit: &FinalizationCommit) -> Result<Finalization, StrategyError> {
        Finalization::begin(self, commit)
    }
}
