//! One time step of each kind of recurrent layer.

use super::super::NodeLowering;
use super::setting::Setting;
use crate::ImportError;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

type Step = Result<State, ImportError>;

/// The state passed from one time step to the next. Each value has the shape `[batch, hidden]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) hidden: ValueId,
    /// The cell state of an LSTM; other layers ignore it.
    pub(super) cell: ValueId,
}

/// The weights of one direction.
pub(super) struct Direction {
    /// The recurrence weights, `[gates · hidden, hidden]`.
    pub(super) recurrence: ValueId,
    /// The recurrent biases, `[1, gates · hidden]`, if there are any.
    pub(super) recurrent_bias: Option<ValueId>,
    /// The peephole weights, `[1, 3 · hidden]`, if there are any.
    pub(super) peepholes: Option<ValueId>,
    pub(super) activations: Vec<ElementOp>,
    /// The number of elements in the state of one example.
    pub(super) hidden: usize,
}

/// A kind of recurrent layer.
pub(super) trait Cell: Sized {
    /// The number of gates in the weights.
    const GATES: usize;
    /// Attributes that only this kind has.
    const ATTRIBUTES: &'static [&'static str];
    /// The default `activations`.
    const ACTIVATIONS: &'static [ElementOp];
    /// The input position of the peepholes, if the layer has a cell state.
    const PEEPHOLES: Option<usize>;

    /// Reads the attributes that only this kind has.
    fn new(node: &NodeLowering<'_>, setting: &Setting<'_>) -> Result<Self, ImportError>;

    /// Returns whether the recurrent bias can be added to the input's part of the gates, outside the loop.
    fn adds_recurrent_bias_early(&self) -> bool;

    /// Computes one time step. `input` is the input's part of the gates, `[batch, gates · hidden]`.
    fn step(&self, node: &mut NodeLowering<'_>, direction: &Direction, input: ValueId, state: State) -> Step;
}

/// Long short-term memory. Gates in the order of the weights: input, output, forget, cell.
pub(super) struct Lstm;

impl Cell for Lstm {
    const GATES: usize = 4;
    const ATTRIBUTES: &'static [&'static str] = &["input_forget"];
    const ACTIVATIONS: &'static [ElementOp] = &[ElementOp::Sigmoid, ElementOp::Tanh, ElementOp::Tanh];
    const PEEPHOLES: Option<usize> = Some(7);

    fn new(node: &NodeLowering<'_>, setting: &Setting<'_>) -> Result<Self, ImportError> {
        match setting.attributes.flag("input_forget")? {
            true => Err(node.refuse("couples its input and forget gates, which is not supported")),
            false => Ok(Self),
        }
    }

    fn adds_recurrent_bias_early(&self) -> bool {
        true
    }

    fn step(&self, node: &mut NodeLowering<'_>, direction: &Direction, input: ValueId, state: State) -> Step {
        let [of_gates, of_cell, of_hidden] = direction.activations[..] else {
            return Err(node.refuse("does not have three activations for each direction"));
        };
        let recurrent = node.matmul(state.hidden, direction.recurrence, [false, true])?;
        let sum = node.binary(ElementOp::Add, input, recurrent)?;
        let hidden = direction.hidden;
        let gate =
            |node: &mut NodeLowering<'_>, index: usize| node.slice_axis(sum, 1, index * hidden, hidden);
        let (input, output) = (gate(node, 0)?, gate(node, 1)?);
        let (forget, cell) = (gate(node, 2)?, gate(node, 3)?);
        let input = direction.peep(node, input, 0, state.cell)?;
        let forget = direction.peep(node, forget, 2, state.cell)?;
        let (input, forget) = (node.unary(of_gates, input)?, node.unary(of_gates, forget)?);
        let new = node.unary(of_cell, cell)?;
        let kept = node.binary(ElementOp::Multiply, forget, state.cell)?;
        let added = node.binary(ElementOp::Multiply, input, new)?;
        let cell = node.binary(ElementOp::Add, kept, added)?;
        let output = direction.peep(node, output, 1, cell)?;
        let output = node.unary(of_gates, output)?;
        let shown = node.unary(of_hidden, cell)?;
        Ok(State { hidden: node.binary(ElementOp::Multiply, output, shown)?, cell })
    }
}

impl Direction {
    /// Adds the contribution of the cell state to a gate, if there are peepholes.
    fn peep(
        &self,
        node: &mut NodeLowering<'_>,
        gate: ValueId,
        index: usize,
        cell: ValueId,
    ) -> Result<ValueId, ImportError> {
        let Some(peepholes) = self.peepholes else { return Ok(gate) };
        let weights = node.slice_axis(peepholes, 1, index * self.hidden, self.hidden)?;
        let seen = node.binary(ElementOp::Multiply, weights, cell)?;
        node.binary(ElementOp::Add, gate, seen)
    }
}

/// A gated recurrent unit. Gates in the order of the weights: update, reset, hidden.
pub(super) struct Gru {
    /// True to apply the reset gate after the matrix product instead of before.
    linear_before_reset: bool,
}

impl Cell for Gru {
    const GATES: usize = 3;
    const ATTRIBUTES: &'static [&'static str] = &["linear_before_reset"];
    const ACTIVATIONS: &'static [ElementOp] = &[ElementOp::Sigmoid, ElementOp::Tanh];
    const PEEPHOLES: Option<usize> = None;

    fn new(_: &NodeLowering<'_>, setting: &Setting<'_>) -> Result<Self, ImportError> {
        Ok(Self { linear_before_reset: setting.attributes.flag("linear_before_reset")? })
    }

    fn adds_recurrent_bias_early(&self) -> bool {
        !self.linear_before_reset
    }

    fn step(&self, node: &mut NodeLowering<'_>, direction: &Direction, input: ValueId, state: State) -> Step {
        let [of_gates, of_hidden] = direction.activations[..] else {
            return Err(node.refuse("does not have two activations for each direction"));
        };
        let hidden = direction.hidden;
        let rows = if self.linear_before_reset { 3 * hidden } else { 2 * hidden };
        let weights = node.slice_axis(direction.recurrence, 0, 0, rows)?;
        let mut recurrent = node.matmul(state.hidden, weights, [false, true])?;
        if let (true, Some(bias)) = (self.linear_before_reset, direction.recurrent_bias) {
            recurrent = node.binary(ElementOp::Add, recurrent, bias)?;
        }
        let input_gates = node.slice_axis(input, 1, 0, 2 * hidden)?;
        let recurrent_gates = node.slice_axis(recurrent, 1, 0, 2 * hidden)?;
        let gates = node.binary(ElementOp::Add, input_gates, recurrent_gates)?;
        let gates = node.unary(of_gates, gates)?;
        let (update, reset) =
            (node.slice_axis(gates, 1, 0, hidden)?, node.slice_axis(gates, 1, hidden, hidden)?);
        let remembered = if self.linear_before_reset {
            let recurrent = node.slice_axis(recurrent, 1, 2 * hidden, hidden)?;
            node.binary(ElementOp::Multiply, reset, recurrent)?
        } else {
            let kept = node.binary(ElementOp::Multiply, reset, state.hidden)?;
            let weights = node.slice_axis(direction.recurrence, 0, 2 * hidden, hidden)?;
            node.matmul(kept, weights, [false, true])?
        };
        let new = node.slice_axis(input, 1, 2 * hidden, hidden)?;
        let new = node.binary(ElementOp::Add, new, remembered)?;
        let new = node.unary(of_hidden, new)?;
        // (1 - z) new + z old
        let difference = node.binary(ElementOp::Subtract, state.hidden, new)?;
        let moved = node.binary(ElementOp::Multiply, update, difference)?;
        Ok(State { hidden: node.binary(ElementOp::Add, new, moved)?, ..state })
    }
}

/// A simple recurrent layer, with one gate.
pub(super) struct Rnn;

impl Cell for Rnn {
    const GATES: usize = 1;
    const ATTRIBUTES: &'static [&'static str] = &[];
    const ACTIVATIONS: &'static [ElementOp] = &[ElementOp::Tanh];
    const PEEPHOLES: Option<usize> = None;

    fn new(_: &NodeLowering<'_>, _: &Setting<'_>) -> Result<Self, ImportError> {
        Ok(Self)
    }

    fn adds_recurrent_bias_early(&self) -> bool {
        true
    }

    fn step(&self, node: &mut NodeLowering<'_>, direction: &Direction, input: ValueId, state: State) -> Step {
        let recurrent = node.matmul(state.hidden, direction.recurrence, [false, true])?;
        let sum = node.binary(ElementOp::Add, input, recurrent)?;
        Ok(State { hidden: node.unary(direction.activations[0], sum)?, ..state })
    }
}
