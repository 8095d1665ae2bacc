//! Takes the place of the runtime in builds without it: nothing can be compiled, so nothing runs.

use super::{
    AggregationCommit, COMPONENT_BYTES_MAX, FinalizationCommit, Preferred, Role, SelectionDraw,
    StrategyError, Terms,
};

/// A compiled component. There is none in this build.
pub enum Compiled {}

impl Compiled {
    /// Refuses every component.
    ///
    /// # Errors
    /// Always.
    pub fn new(bytes: &[u8]) -> Result<Self, StrategyError> {
        match bytes.len() > COMPONENT_BYTES_MAX {
            true => Err(StrategyError::TooLarge(bytes.len())),
            false => Err(StrategyError::Unsupported),
        }
    }

    /// Returns the roles that the component can play.
    pub fn roles(&self) -> Vec<Role> {
        match *self {}
    }
}

pub(super) fn check_selection(compiled: &Compiled, _: &Terms) -> Result<(), StrategyError> {
    match *compiled {}
}

pub(super) fn select(
    compiled: &Compiled,
    _: &Terms,
    _: &SelectionDraw,
    _: &[u8],
) -> Result<Preferred, StrategyError> {
    match *compiled {}
}

/// A commit of a component that combines updates.
pub struct Aggregation(Compiled);

impl Aggregation {
    pub(super) fn check(compiled: &Compiled, _: &Terms) -> Result<(), StrategyError> {
        match *compiled {}
    }

    pub(super) fn begin(
        compiled: &Compiled,
        _: &Terms,
        _: &AggregationCommit,
        _: &[u8],
    ) -> Result<Self, StrategyError> {
        match *compiled {}
    }

    /// Returns the number of passes over all updates before they are combined.
    pub fn passes(&self) -> u32 {
        match self.0 {}
    }

    /// Measures a tile.
    pub fn measure(&mut self, _pass: u32, _first: usize, _rows: &[&[f32]]) {
        match self.0 {}
    }

    /// Combines a tile.
    pub fn combine(&mut self, _first: usize, _rows: &[&[f32]]) -> Vec<f64> {
        match self.0 {}
    }

    /// Ends the commit and returns the state for the next one.
    ///
    /// # Errors
    /// The first error of the commit.
    pub fn finish(self) -> Result<Vec<u8>, StrategyError> {
        match self.0 {}
    }
}

/// A commit of a component that changes the model.
pub struct Finalization(Compiled);

impl Finalization {
    pub(super) fn check(compiled: &Compiled, _: &Terms) -> Result<(), StrategyError> {
        match *compiled {}
    }

    pub(super) fn begin(
        compiled: &Compiled,
        _: &Terms,
        _: &FinalizationCommit,
    ) -> Result<Self, StrategyError> {
        match *compiled {}
    }

    /// Returns the number of values that are kept for each parameter.
    pub fn slots(&self) -> usize {
        match self.0 {}
    }

    /// Advances a tile.
    pub fn advance(&mut self, _: usize, _: &mut [f32], _: &[f64], _: &mut [&mut [f32]]) {
        match self.0 {}
    }

    /// Ends the commit.
    ///
    /// # Errors
    /// The first error of the commit.
    pub fn finish(self) -> Result<(), StrategyError> {
        match self.0 {}
    }
}
