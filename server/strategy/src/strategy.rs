use std::sync::Arc;

use folkmoot_component::{Component, DRAW_FUEL_MAX};

use super::{
    Aggregation, AggregationCommit, Compiled, Finalization, FinalizationCommit, Preferred, Role,
    SelectionDraw, StrategyError, Terms, wasm,
};

/// The largest number of instructions of a check of settings.
const CHECK_FUEL: u64 = 5_000_000_000;

/// A compiled component with the settings and limits of a task.
#[derive(Clone)]
pub struct Strategy {
    compiled: Arc<Compiled>,
    terms: Terms,
}

impl Strategy {
    /// Puts a compiled component and a task's choice together.
    pub fn new(compiled: Arc<Compiled>, choice: &Component) -> Self {
        Self { compiled, terms: choice.into() }
    }

    /// Lets the component check the settings for a role, within limits of its own: people wait for the result.
    ///
    /// # Errors
    /// If the component does not have the role, refuses the settings, or fails.
    pub fn check(&self, role: Role) -> Result<(), StrategyError> {
        let terms = Terms { fuel_max: self.terms.fuel_max.min(CHECK_FUEL), ..self.terms.clone() };
        match role {
            Role::Selection => wasm::check_selection(&self.compiled, &terms),
            Role::Aggregator => Aggregation::check(&self.compiled, &terms),
            Role::Finalizer => Finalization::check(&self.compiled, &terms),
        }
    }

    /// Puts the clients of a draw in an order of preference. `state` is the state after the last draw, or empty.
    ///
    /// # Errors
    /// If the component fails, or returns a client that does not wait.
    pub fn select(&self, draw: &SelectionDraw, state: &[u8]) -> Result<Preferred, StrategyError> {
        let terms = Terms { fuel_max: self.terms.fuel_max.min(DRAW_FUEL_MAX), ..self.terms.clone() };
        wasm::select(&self.compiled, &terms, draw, state)
    }

    /// Begins a commit that combines updates. `state` is the result of [`Aggregation::finish`] for the last version, or empty.
    ///
    /// # Errors
    /// If the component cannot be started, or its function `begin` fails.
    pub fn aggregate(&self, commit: &AggregationCommit, state: &[u8]) -> Result<Aggregation, StrategyError> {
        Aggregation::begin(&self.compiled, &self.terms, commit, state)
    }

    /// Begins a commit that changes the model.
    ///
    /// # Errors
    /// If the component cannot be started, or its function `begin` fails.
    pub fn finalize(&self, commit: &FinalizationCommit) -> Result<Finalization, StrategyError> {
        Finalization::begin(&self.compiled, &self.terms, commit)
    }
}
