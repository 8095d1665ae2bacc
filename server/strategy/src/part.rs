use std::sync::Arc;

use super::{Functions, Role, Strategy, StrategyError};

/// An aggregator or finalizer that is not built in.
#[derive(Clone)]
pub enum Part {
    /// A component.
    Component(Strategy),
    /// A function outside of this program, in a simulation.
    Functions(Arc<dyn Functions>),
}

impl Part {
    /// Checks the settings of a component for a role. Functions have no settings.
    ///
    /// # Errors
    /// If the component does not have the role, refuses the settings, or fails.
    pub fn check(&self, role: Role) -> Result<(), StrategyError> {
        match self {
            Part::Component(strategy) => strategy.check(role),
            Part::Functions(_) => Ok(()),
        }
    }
}
