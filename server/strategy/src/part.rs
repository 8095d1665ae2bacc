use std::sync::Arc;

use super::{Functions, Preferred, Role, SelectionDraw, Strategy, StrategyError};

/// A selection, aggregator or finalizer that is not built in.
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

    /// Puts the clients of a draw in an order of preference. `state` is the state after the last draw, or empty.
    /// Functions keep their state themselves, by the number of the draw; for them, `state` is this number. So a draw
    /// that is repeated after a crash begins from the same state.
    ///
    /// # Errors
    /// If the component or the function fails, or returns something else.
    pub fn select(&self, draw: &SelectionDraw, state: &[u8]) -> Result<Preferred, StrategyError> {
        match self {
            Part::Component(strategy) => strategy.select(draw, state),
            Part::Functions(functions) => {
                let last = state.try_into().map_or(0, u64::from_le_bytes);
                let number = last.saturating_add(1);
                let places = functions.select(draw, number)?;
                Ok(Preferred { places, state: number.to_le_bytes().to_vec() })
            }
        }
    }
}
