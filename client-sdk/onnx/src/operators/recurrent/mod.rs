//! Recurrent layers, unrolled over time: one step of the graph for each step of the sequence.
//!
//! The input's part of all gates is one matrix product over all time steps. Only the state's part is computed inside
//! the loop.

mod cells;
mod layer;
mod setting;

use super::{NodeLowering, Outputs};

/// `LSTM` (Hochreiter and Schmidhuber 1997), with peepholes if there are any.
pub(super) fn lstm(node: &mut NodeLowering<'_>) -> Outputs {
    layer::lower::<cells::Lstm>(node)
}

/// `GRU` (Cho et al. 2014).
pub(super) fn gru(node: &mut NodeLowering<'_>) -> Outputs {
    layer::lower::<cells::Gru>(node)
}

/// `RNN` (Elman 1990).
pub(super) fn rnn(node: &mut NodeLowering<'_>) -> Outputs {
    layer::lower::<cells::Rnn>(node)
}
