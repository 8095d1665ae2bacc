//! The loop over time, for each direction.

use super::super::{NodeLowering, Outputs};
use super::cells::{Cell, Direction, State};
use super::setting::Setting;
use crate::ImportError;
use crate::node::Tensor;
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

/// The dimensions of a layer.
struct Sizes {
    steps: usize,
    batch: usize,
    features: usize,
    hidden: usize,
    directions: usize,
}

/// The results of one direction: all hidden states `[steps, 1, batch, hidden]`, and the last state.
struct Run {
    all: Option<ValueId>,
    last: State,
}

/// Lowers a recurrent layer. Inputs: X, W, R, biases, lengths, initial hidden state; for an LSTM also initial cell
/// state and peepholes. Outputs: all hidden states, the last hidden state, the last cell state.
pub(super) fn lower<C: Cell>(node: &mut NodeLowering<'_>) -> Outputs {
    let setting = Setting::new(node, C::ATTRIBUTES, C::ACTIVATIONS)?;
    let cell = C::new(node, &setting)?;
    node.expect_inputs(3..=C::PEEPHOLES.map_or(6, |position| position + 1))?;
    let x = node.input(0)?;
    let by_time = if setting.batch_first { swapped(node, x.value, 3)? } else { x.value };
    let sizes = sizes(node, by_time, &setting, C::GATES)?;
    expect_full_length(node, &sizes)?;
    let flat = node.reshape(by_time, &[sizes.steps * sizes.batch, sizes.features])?;
    let mut runs = Vec::new();
    for index in 0..sizes.directions {
        let direction = direction::<C>(node, &setting, &sizes, index)?;
        let first = first_state::<C>(node, &setting, &sizes, index)?;
        let projected = project(node, &cell, &direction, flat, index)?;
        runs.push(run(node, &cell, &direction, &sizes, (projected, first), setting.backwards[index])?);
    }
    outputs::<C>(node, &setting, &sizes, &runs, x)
}

fn sizes(
    node: &NodeLowering<'_>,
    by_time: ValueId,
    setting: &Setting<'_>,
    gates: usize,
) -> Result<Sizes, ImportError> {
    let (x, recurrence) = (node.shape(by_time), node.shape(node.value(2)?));
    let (&[steps, batch, features], &[directions, rows, hidden]) = (&x[..], &recurrence[..]) else {
        return Err(node.refuse("has an input or weights without exactly three dimensions"));
    };
    let stated = setting.attributes.integer("hidden_size", hidden as i64)?;
    let fits = directions == setting.backwards.len()
        && hidden.checked_mul(gates) == Some(rows)
        && usize::try_from(stated).ok() == Some(hidden)
        && node.shape(node.value(1)?) == [directions, rows, features];
    if !fits {
        return Err(node.refuse("has weights that do not fit its hidden_size, direction and input"));
    }
    Ok(Sizes { steps, batch, features, hidden, directions })
}

/// Rejects sequences of different lengths, which are not supported.
fn expect_full_length(node: &NodeLowering<'_>, sizes: &Sizes) -> Result<(), ImportError> {
    match node.known_numbers(4)? {
        Some(lengths) if lengths.iter().any(|length| *length != sizes.steps as f64) => {
            Err(node.refuse("has sequences of different lengths, which is not supported"))
        }
        _ => Ok(()),
    }
}

fn direction<C: Cell>(
    node: &mut NodeLowering<'_>,
    setting: &Setting<'_>,
    sizes: &Sizes,
    index: usize,
) -> Result<Direction, ImportError> {
    let rows = C::GATES * sizes.hidden;
    let recurrence = node.value(2)?;
    let recurrence = part(node, recurrence, index, &[rows, sizes.hidden])?;
    let recurrent_bias = match node.optional(3) {
        None => None,
        Some(biases) => {
            let biases = part(node, biases.value, index, &[1, 2 * rows])?;
            Some(node.slice_axis(biases, 1, rows, rows)?)
        }
    };
    let peepholes = match C::PEEPHOLES.and_then(|position| node.optional(position)) {
        None => None,
        Some(peepholes) => Some(part(node, peepholes.value, index, &[1, 3 * sizes.hidden])?),
    };
    let (activations, hidden) = (setting.activations[index].clone(), sizes.hidden);
    Ok(Direction { recurrence, recurrent_bias, peepholes, activations, hidden })
}

/// Returns one direction's part of the weights.
fn part(
    node: &mut NodeLowering<'_>,
    weights: ValueId,
    index: usize,
    shape: &[usize],
) -> Result<ValueId, ImportError> {
    let own = node.shape(weights);
    if own.first().is_none_or(|directions| index >= *directions) {
        return Err(node.refuse("has weights for too few directions"));
    }
    let part = node.slice_axis(weights, 0, index, 1)?;
    node.reshape(part, shape)
}

/// Returns the input's part of the gates for all time steps, `[steps · batch, gates · hidden]`.
fn project<C: Cell>(
    node: &mut NodeLowering<'_>,
    cell: &C,
    direction: &Direction,
    flat: ValueId,
    index: usize,
) -> Result<ValueId, ImportError> {
    let weights = node.value(1)?;
    let (rows, features) = (C::GATES * direction.hidden, node.shape(weights)[2]);
    let weights = part(node, weights, index, &[rows, features])?;
    let product = node.matmul(flat, weights, [false, true])?;
    let Some(biases) = node.optional(3) else { return Ok(product) };
    let biases = part(node, biases.value, index, &[1, 2 * rows])?;
    let mut bias = node.slice_axis(biases, 1, 0, rows)?;
    if let (Some(recurrent), true) = (direction.recurrent_bias, cell.adds_recurrent_bias_early()) {
        bias = node.binary(ElementOp::Add, bias, recurrent)?;
    }
    node.binary(ElementOp::Add, product, bias)
}

/// Returns the given initial states, or zeros.
fn first_state<C: Cell>(
    node: &mut NodeLowering<'_>,
    setting: &Setting<'_>,
    sizes: &Sizes,
    index: usize,
) -> Result<State, ImportError> {
    let mut state = |position: usize| {
        let shape = [sizes.batch, sizes.hidden];
        let Some(given) = node.optional(position) else {
            let zero = node.graph.add_scalar(0.0);
            return node.broadcast_to(zero, &shape);
        };
        let by_direction = if setting.batch_first { swapped(node, given.value, 3)? } else { given.value };
        part(node, by_direction, index, &shape)
    };
    let hidden = state(5)?;
    let cell = if C::PEEPHOLES.is_some() { state(6)? } else { hidden };
    Ok(State { hidden, cell })
}

fn run<C: Cell>(
    node: &mut NodeLowering<'_>,
    cell: &C,
    direction: &Direction,
    sizes: &Sizes,
    (projected, first): (ValueId, State),
    backwards: bool,
) -> Result<Run, ImportError> {
    let (mut state, mut hidden) = (first, Vec::new());
    for index in 0..sizes.steps {
        let time = if backwards { sizes.steps - 1 - index } else { index };
        let input = node.slice_axis(projected, 0, time * sizes.batch, sizes.batch)?;
        state = cell.step(node, direction, input, state)?;
        hidden.push(state.hidden);
        node.check_graph()?;
    }
    if backwards {
        hidden.reverse();
    }
    let all = if node.names_output(0) {
        let joined = node.concat(&hidden, 0)?;
        Some(node.reshape(joined, &[sizes.steps, 1, sizes.batch, sizes.hidden])?)
    } else {
        None
    };
    Ok(Run { all, last: state })
}

fn outputs<C: Cell>(
    node: &mut NodeLowering<'_>,
    setting: &Setting<'_>,
    sizes: &Sizes,
    runs: &[Run],
    x: Tensor,
) -> Outputs {
    let all: Option<Vec<ValueId>> = runs.iter().map(|run| run.all).collect();
    let mut states = vec![runs.iter().map(|run| run.last.hidden).collect::<Vec<_>>()];
    if C::PEEPHOLES.is_some() {
        states.push(runs.iter().map(|run| run.last.cell).collect());
    }
    let mut outputs = Vec::new();
    for directions in states {
        let joined = node.concat(&directions, 0)?;
        let last = node.reshape(joined, &[sizes.directions, sizes.batch, sizes.hidden])?;
        outputs.push(if setting.batch_first { swapped(node, last, 3)? } else { last });
    }
    let first = match all {
        None => outputs[0],
        Some(all) => {
            let all = node.concat(&all, 1)?;
            // From [steps, directions, batch, hidden] to [batch, steps, directions, hidden].
            if setting.batch_first { node.transpose(all, &[2, 0, 1, 3])? } else { all }
        }
    };
    outputs.insert(0, first);
    Ok(outputs.into_iter().map(|value| x.with(value)).collect())
}

/// Swaps the first two axes.
fn swapped(node: &mut NodeLowering<'_>, value: ValueId, rank: usize) -> Result<ValueId, ImportError> {
    if node.graph.shape(value).len() != rank {
        return Err(node.refuse(&format!("reads a tensor that does not have {rank} dimensions")));
    }
    node.transpose(value, &[1, 0, 2])
}
