use std::ops::Range;

use super::{AggregationCommit, FinalizationCommit, SelectionDraw, StrategyError};

/// The bytes whose digest stands for functions in the description of a simulated task. They are no component, so nobody can upload
/// them to a coordinator.
pub const FUNCTIONS: &[u8] = b"functions of the process that runs the simulation";

/// Strategies outside of this program, which see whole models. Only simulations have them.
pub trait Functions: Send + Sync {
    /// Puts the clients of a draw in an order of preference. Returns their places, each at most once. `number` counts the task's
    /// draws, from 1.
    ///
    /// # Errors
    /// If the function fails, or returns something else.
    fn select(&self, draw: &SelectionDraw, number: u64) -> Result<Vec<usize>, StrategyError>;

    /// Combines updates. Returns a finite value for each parameter: the change of the model, before the finalizer.
    ///
    /// # Errors
    /// If the function fails, or returns something else.
    fn aggregate(
        &self,
        commit: &AggregationCommit,
        updates: &mut dyn UpdateValues,
    ) -> Result<Vec<f64>, StrategyError>;

    /// Changes the model. `newest` are its weights: float32, little-endian. Returns the next weights, all finite.
    ///
    /// # Errors
    /// If the function fails, or returns something else.
    fn finalize(
        &self,
        commit: &FinalizationCommit,
        newest: &[u8],
        aggregate: &[f64],
    ) -> Result<Vec<f32>, StrategyError>;
}

/// The values of a round's updates, which are read on demand.
pub trait UpdateValues {
    /// Returns the newest weights: float32, little-endian.
    fn newest(&self) -> &[u8];

    /// Reads a range of parameters of one update, after the correction for staleness.
    ///
    /// # Errors
    /// If the round log cannot be read.
    fn read(&mut self, update: usize, parameters: Range<usize>) -> Result<&[f32], StrategyError>;
}
