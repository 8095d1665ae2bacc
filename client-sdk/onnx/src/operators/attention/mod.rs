//! `Attention` (Vaswani et al. 2017): heads with shared keys, masks, a cache of past keys and values, and soft capping.

mod heads;
pub(super) mod rotary;

use super::gather::expect_inside;
use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use crate::node::Tensor;
use crate::tensor::{Constant, ElementType};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Reduction};
use heads::by_head;

const ATTRIBUTES: [&str; 9] = [
    "is_causal",
    "kv_num_heads",
    "left_window_size",
    "q_num_heads",
    "qk_matmul_output_mode",
    "right_window_size",
    "scale",
    "softcap",
    // The executor decides the precision.
    "softmax_precision",
];

/// `softmax(softcap(scale · Q Kᵀ) + mask) V`.
///
/// The inputs are `[N, heads, time, features]`, or `[N, time, heads · features]` with the numbers of heads as
/// attributes. A row whose mask hides every key gives 0.
pub(super) fn attention(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&ATTRIBUTES)?;
    node.expect_inputs(3..=7)?;
    if node.optional(6).is_some() && node.optional(4).is_some() {
        return Err(node.refuse("has both a cache and nonpad_kv_seqlen; it may have one of them"));
    }
    let input = node.input(0)?;
    let is_flat = node.graph.shape(input.value).len() == 3;
    let query = by_head(node, &attributes, 0, "q_num_heads")?;
    let (key, value) = (with_past(node, &attributes, 1)?, with_past(node, &attributes, 2)?);
    let past = node.optional(4).map_or(0, |past| node.graph.shape(past.value)[2]);
    let shapes = [query, key, value].map(|value| node.shape(value));
    let [[n, query_heads, time, size], [_, key_heads, keys, _], [_, _, _, width]] =
        shapes.map(|shape| <[usize; 4]>::try_from(shape).unwrap_or_default());
    if key_heads == 0 || !query_heads.is_multiple_of(key_heads) {
        return Err(node
            .refuse(&format!("cannot divide {query_heads} query heads evenly among {key_heads} key heads")));
    }
    expect_same(node, key, 1, [n, key_heads, keys, size])?;
    expect_same(node, value, 2, [n, key_heads, keys, width])?;
    let scale = match attributes.has("scale") {
        true => f64::from(attributes.float("scale", 1.0)?),
        false => 1.0 / (size as f64).sqrt(),
    };
    // Query heads that share a key head are one axis, along which the key is broadcast.
    let sharing = query_heads / key_heads;
    let scaled = node.with_number(ElementOp::Multiply, query, scale)?;
    let scaled = node.reshape(scaled, &[n, key_heads, sharing, time, size])?;
    let key_of_all = node.reshape(key, &[n, key_heads, 1, keys, size])?;
    let scores = node.matmul(scaled, key_of_all, [false, true])?;
    let scores = node.reshape(scores, &[n, query_heads, time, keys])?;
    let capped = capped(node, scores, attributes.float("softcap", 0.0)?.into())?;
    let masked = masked(node, &attributes, capped, past)?;
    let weights = softmax(node, masked)?;
    let weights_of_key = node.reshape(weights, &[n, key_heads, sharing, time, keys])?;
    let value_of_all = node.reshape(value, &[n, key_heads, 1, keys, width])?;
    let result = node.matmul(weights_of_key, value_of_all, [false, false])?;
    let mut result = node.reshape(result, &[n, query_heads, time, width])?;
    if is_flat {
        let turned = node.transpose(result, &[0, 2, 1, 3])?;
        result = node.reshape(turned, &[n, time, query_heads * width])?;
    }
    let scores = match attributes.integer("qk_matmul_output_mode", 0)? {
        0 => scores,
        1 => capped,
        2 => masked,
        3 => weights,
        other => {
            return Err(node.refuse(&format!("has the qk_matmul_output_mode {other}; it must be 0 to 3")));
        }
    };
    Ok([result, key, value, scores].map(|value| input.with(value)).to_vec())
}

/// Refuses keys or values whose shape does not fit the queries and each other.
fn expect_same(
    node: &NodeLowering<'_>,
    value: ValueId,
    position: usize,
    expected: [usize; 4],
) -> Result<(), ImportError> {
    let shape = node.shape(value);
    if shape == expected {
        return Ok(());
    }
    Err(node.refuse(&format!(
        "reads input {position} of shape {shape:?} as [N, heads, time, features]; it must be {expected:?}"
    )))
}

/// Appends keys or values to the cached ones.
fn with_past(
    node: &mut NodeLowering<'_>,
    attributes: &Attributes<'_>,
    position: usize,
) -> Result<ValueId, ImportError> {
    let own = by_head(node, attributes, position, "kv_num_heads")?;
    match node.optional(position + 3) {
        None => Ok(own),
        Some(past) if node.graph.shape(past.value).len() == 4 => node.concat(&[past.value, own], 2),
        Some(_) => Err(node.refuse(&format!("reads input {}, which must have 4 dimensions", position + 3))),
    }
}

/// `cap · tanh(scores / cap)` (Gemma 2); a cap of 0 changes nothing.
fn capped(node: &mut NodeLowering<'_>, scores: ValueId, cap: f64) -> Result<ValueId, ImportError> {
    if cap <= 0.0 {
        return Ok(scores);
    }
    let small = node.with_number(ElementOp::Divide, scores, cap)?;
    let bent = node.unary(ElementOp::Tanh, small)?;
    node.with_number(ElementOp::Multiply, bent, cap)
}

/// Hides keys as the attributes require: keys that the mask excludes, that follow the query's own position, that are
/// outside a window around this position, or that follow the end of the example. `past` is the number of cached keys.
fn masked(
    node: &mut NodeLowering<'_>,
    attributes: &Attributes<'_>,
    scores: ValueId,
    past: usize,
) -> Result<ValueId, ImportError> {
    let lowest = node.graph.add_scalar(f64::NEG_INFINITY);
    let mut masked = scores;
    if let Some(mask) = node.optional(3) {
        let keys = node.graph.shape(scores)[3];
        let is_boolean = mask.element_type == ElementType::Boolean;
        let mask = widened(node, mask, keys)?;
        masked = match is_boolean {
            true => node.select(mask, masked, lowest)?,
            false => node.binary(ElementOp::Add, masked, mask)?,
        };
    }
    if let Some(seen) = seen(node, attributes, scores, past)? {
        masked = node.select(seen, masked, lowest)?;
    }
    if node.shape(masked) != node.shape(scores) {
        return Err(node.refuse("has a mask that does not broadcast to the scores' shape"));
    }
    Ok(masked)
}

/// Returns which keys each query may see by their positions; `None` if it may see all.
fn seen(
    node: &mut NodeLowering<'_>,
    attributes: &Attributes<'_>,
    scores: ValueId,
    past: usize,
) -> Result<Option<ValueId>, ImportError> {
    let [n, _, time, keys] = node.shape(scores)[..] else {
        return Err(node.refuse("has scores that do not have 4 dimensions"));
    };
    let left = attributes.integer("left_window_size", -1)?;
    let right = match attributes.flag("is_causal")? {
        true => 0,
        false => attributes.integer("right_window_size", -1)?,
    };
    let lengths = match node.optional(6) {
        Some(lengths) => Some(node.reshape(lengths.value, &[n, 1, 1, 1])?),
        None => None,
    };
    let mut conditions = Vec::new();
    if let Some(lengths) = lengths {
        let positions = whole_numbers(node, &[keys], |index| index as f64)?;
        conditions.push(node.binary(ElementOp::Less, positions, lengths)?);
    }
    if left >= 0 || right >= 0 {
        // The query's position minus the key's. The queries are the last positions of each example.
        let mut distance = whole_numbers(node, &[time, keys], |index| {
            (index / keys) as f64 + past as f64 - (index % keys) as f64
        })?;
        if let Some(lengths) = lengths {
            let first = node.with_number(ElementOp::Subtract, lengths, time as f64)?;
            distance = node.binary(ElementOp::Add, distance, first)?;
        }
        if left >= 0 {
            conditions.push(node.with_number(ElementOp::LessOrEqual, distance, left as f64)?);
        }
        if right >= 0 {
            let lowest = node.graph.add_scalar(-right as f64);
            conditions.push(node.binary(ElementOp::LessOrEqual, lowest, distance)?);
        }
    }
    let mut conditions = conditions.into_iter();
    let Some(first) = conditions.next() else { return Ok(None) };
    conditions.try_fold(first, |all, next| node.binary(ElementOp::And, all, next)).map(Some)
}

/// Adds a constant whose elements follow from their index.
fn whole_numbers(
    node: &mut NodeLowering<'_>,
    shape: &[usize],
    number: impl Fn(usize) -> f64,
) -> Result<ValueId, ImportError> {
    let count = node.fits(shape)?;
    node.budget.room_for_constants(count)?;
    let elements = (0..count).map(number).collect();
    Ok(node.constant(Constant { shape: shape.to_vec(), elements, element_type: ElementType::Integer }).value)
}

/// Extends a mask for fewer keys; it hides the others.
fn widened(node: &mut NodeLowering<'_>, mask: Tensor, keys: usize) -> Result<ValueId, ImportError> {
    let mut shape = node.shape(mask.value);
    let Some(last) = shape.last_mut().filter(|last| **last < keys) else { return Ok(mask.value) };
    let known = *last;
    *last = keys;
    let starts = vec![0; shape.len()];
    let wide = node.unslice(mask.value, &starts, &shape)?;
    if mask.element_type == ElementType::Boolean {
        return Ok(wide);
    }
    node.budget.room_for_constants(keys)?;
    let elements = (0..keys).map(|key| if key < known { 0.0 } else { f64::NEG_INFINITY }).collect();
    let hidden = node.constant(Constant { shape: vec![keys], elements, element_type: ElementType::Float });
    node.binary(ElementOp::Add, wide, hidden.value)
}

/// The softmax of the last axis; 0 where every score is -∞.
fn softmax(node: &mut NodeLowering<'_>, scores: ValueId) -> Result<ValueId, ImportError> {
    let axis = node.graph.shape(scores).len() - 1;
    let largest = node.reduce(Reduction::Maximum, scores, &[axis]);
    let is_hidden = node.with_number(ElementOp::Equal, largest, f64::NEG_INFINITY)?;
    let zero = node.graph.add_scalar(0.0);
    let shift = node.select(is_hidden, zero, largest)?;
    // The gradients through the maximum cancel.
    let shift = node.unary(ElementOp::Detach, shift)?;
    let shifted = node.binary(ElementOp::Subtract, scores, shift)?;
    let exponentials = node.unary(ElementOp::Exponential, shifted)?;
    let sum = node.reduce(Reduction::Sum, exponentials, &[axis]);
    let divisor = node.binary(ElementOp::Add, sum, is_hidden)?;
    node.binary(ElementOp::Divide, exponentials, divisor)
}
