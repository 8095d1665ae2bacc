//! Normalization: over the batch, groups of channels, each channel, or the last axes.

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::mode::Mode;
use crate::node::Tensor;
use folkmoot_graph::op::ElementOp;
use folkmoot_graph::{Source, ValueId};

/// Deviations from the mean, and the inverse standard deviation, along some axes.
struct Moments {
    mean: ValueId,
    deviations: ValueId,
    variance: ValueId,
    inverse_deviation: ValueId,
}

/// `BatchNormalization` (Ioffe and Szegedy 2015) of `[N, C, …]`.
///
/// Training normalizes with the batch's own statistics and moves the running statistics towards them. If the running
/// statistics are frozen or are not initializers, they cannot be updated, so they normalize in training too.
pub(super) fn batch(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["epsilon", "momentum", "training_mode", "spatial"])?;
    let (epsilon, momentum) = (attributes.float("epsilon", 1e-5)?, attributes.float("momentum", 0.9)?);
    let (is_written, spatial) = (attributes.flag("training_mode")?, attributes.integer("spatial", 1)?);
    node.expect_inputs(5..=5)?;
    if spatial != 1 {
        return Err(node.refuse("has statistics for every position; set its attribute `spatial` to 1"));
    }
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    let &[_, channels, ..] = &shape[..] else {
        return Err(node.refuse("has no channels"));
    };
    let by_channel = by_channel(channels, shape.len());
    let mut inputs = [x.value; 4];
    for (position, input) in (1..).zip(&mut inputs) {
        let value = node.value(position)?;
        *input = node.reshape(value, &by_channel)?;
    }
    let [scale, bias, running_mean, running_variance] = inputs;
    let running = [node.value(3)?, node.value(4)?];
    let uses_batch = match node.mode {
        Mode::Training => running.iter().all(|value| {
            parameter(node, *value).is_some_and(|index| !node.frozen.get(index).is_some_and(|frozen| *frozen))
        }),
        Mode::Inference => false,
        Mode::AsWritten => is_written,
    };
    if !uses_batch {
        let deviations = node.binary(ElementOp::Subtract, x.value, running_mean)?;
        let inverse_deviation = inverse_deviation(node, running_variance, epsilon.into())?;
        let result = scaled(node, deviations, inverse_deviation, scale, bias)?;
        return Ok([result, running[0], running[1]].map(|value| x.with(value)).to_vec());
    }
    let axes: Vec<usize> = (0..shape.len()).filter(|axis| *axis != 1).collect();
    let moments = moments(node, x.value, &axes, epsilon.into())?;
    let result = scaled(node, moments.deviations, moments.inverse_deviation, scale, bias)?;
    let mut outputs = vec![x.with(result)];
    for (running, current) in running.into_iter().zip([moments.mean, moments.variance]) {
        let moved = moved_towards(node, running, current, momentum.into())?;
        outputs.push(x.with(moved));
        if let (Mode::Training, Some(index)) = (node.mode, parameter(node, running)) {
            if node.updates.iter().any(|(other, _)| *other == index) {
                return Err(
                    node.refuse("shares its running statistics with another node, which is not supported")
                );
            }
            node.updates.push((index, moved));
        }
    }
    Ok(outputs)
}

/// Returns `running · momentum + current · (1 - momentum)`, in the shape of `running`.
fn moved_towards(
    node: &mut NodeLowering<'_>,
    running: ValueId,
    current: ValueId,
    momentum: f64,
) -> Result<ValueId, ImportError> {
    let current = node.reshape(current, &node.shape(running))?;
    let kept = node.with_number(ElementOp::Multiply, running, momentum)?;
    let added = node.with_number(ElementOp::Multiply, current, 1.0 - momentum)?;
    node.binary(ElementOp::Add, kept, added)
}

fn parameter(node: &NodeLowering<'_>, value: ValueId) -> Option<usize> {
    match node.graph.values[value.0].source {
        Source::Parameter(index) => Some(index),
        _ => None,
    }
}

/// `InstanceNormalization` (Ulyanov et al. 2016): normalizes each channel of each example.
pub(super) fn instance(node: &mut NodeLowering<'_>) -> Outputs {
    let epsilon = node.attributes(&["epsilon"])?.float("epsilon", 1e-5)?;
    node.expect_inputs(3..=3)?;
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    if shape.len() < 3 {
        return Err(node.refuse("has no spatial dimensions"));
    }
    let axes: Vec<usize> = (2..shape.len()).collect();
    let (scale, bias) = (node.value(1)?, node.value(2)?);
    let by_channel = by_channel(shape[1], shape.len());
    let (scale, bias) = (node.reshape(scale, &by_channel)?, node.reshape(bias, &by_channel)?);
    let moments = moments(node, x.value, &axes, epsilon.into())?;
    Ok(vec![x.with(scaled(node, moments.deviations, moments.inverse_deviation, scale, bias)?)])
}

/// `GroupNormalization` (Wu and He 2018): normalizes groups of channels of each example.
///
/// Before opset 21, scale and bias have one value per group; since then, one per channel.
pub(super) fn group(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["epsilon", "num_groups", "stash_type"])?;
    let (epsilon, groups) = (attributes.float("epsilon", 1e-5)?, attributes.integer("num_groups", 0)?);
    node.expect_inputs(3..=3)?;
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0);
    let (&[n, channels, ref positions @ ..], Some(groups)) = (&shape[..], groups) else {
        return Err(node.refuse("has an input without channels, or a num_groups below 1"));
    };
    if !channels.is_multiple_of(groups) {
        return Err(node.refuse(&format!("cannot divide {channels} channels into {groups} equal groups")));
    }
    let (positions, per_group) = (positions.iter().product::<usize>(), channels / groups);
    let grouped = node.reshape(x.value, &[n, groups, per_group, positions])?;
    let own = if node.opset < 21 { [1, groups, 1, 1] } else { [1, groups, per_group, 1] };
    let (scale, bias) = (node.value(1)?, node.value(2)?);
    let (scale, bias) = (node.reshape(scale, &own)?, node.reshape(bias, &own)?);
    let moments = moments(node, grouped, &[2, 3], epsilon.into())?;
    let result = scaled(node, moments.deviations, moments.inverse_deviation, scale, bias)?;
    Ok(vec![x.with(node.reshape(result, &shape)?)])
}

/// `LayerNormalization` (Ba et al. 2016): normalizes each example over the axes from `axis` on.
pub(super) fn layer(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axis", "epsilon", "stash_type"])?;
    let (epsilon, axis) = (attributes.float("epsilon", 1e-5)?, attributes.integer("axis", -1)?);
    node.expect_inputs(2..=3)?;
    let x = node.input(0)?;
    let shape = node.shape(x.value);
    let axes: Vec<usize> = (node.axis(axis, shape.len())?..shape.len()).collect();
    let moments = moments(node, x.value, &axes, epsilon.into())?;
    let normalized = node.binary(ElementOp::Multiply, moments.deviations, moments.inverse_deviation)?;
    let mut result = node.binary(ElementOp::Multiply, normalized, node.value(1)?)?;
    if let Some(bias) = node.optional(2) {
        result = node.binary(ElementOp::Add, result, bias.value)?;
    }
    if node.shape(result) != shape {
        return Err(node.refuse("has a scale or bias that does not broadcast to the input's shape"));
    }
    Ok([result, moments.mean, moments.inverse_deviation].map(Tensor::float).to_vec())
}

/// `RMSNormalization` (Zhang and Sennrich 2019): divides by the root of the mean square over the axes from `axis` on.
pub(super) fn root_mean_square(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["axis", "epsilon", "stash_type"])?;
    let (epsilon, axis) = (attributes.float("epsilon", 1e-5)?, attributes.integer("axis", -1)?);
    node.expect_inputs(2..=2)?;
    let (x, scale) = (node.input(0)?, node.value(1)?);
    let shape = node.shape(x.value);
    let axes: Vec<usize> = (node.axis(axis, shape.len())?..shape.len()).collect();
    let squares = node.binary(ElementOp::Multiply, x.value, x.value)?;
    let mean = node.mean(squares, &axes)?;
    let inverse = inverse_deviation(node, mean, epsilon.into())?;
    let normalized = node.binary(ElementOp::Multiply, x.value, inverse)?;
    let result = node.binary(ElementOp::Multiply, normalized, scale)?;
    if node.shape(result) != shape {
        return Err(node.refuse("has a scale that does not broadcast to the input's shape"));
    }
    Ok(vec![x.with(result)])
}

fn moments(
    node: &mut NodeLowering<'_>,
    x: ValueId,
    axes: &[usize],
    epsilon: f64,
) -> Result<Moments, ImportError> {
    let mean = node.mean(x, axes)?;
    let deviations = node.binary(ElementOp::Subtract, x, mean)?;
    let squares = node.binary(ElementOp::Multiply, deviations, deviations)?;
    let variance = node.mean(squares, axes)?;
    let inverse_deviation = inverse_deviation(node, variance, epsilon)?;
    Ok(Moments { mean, deviations, variance, inverse_deviation })
}

/// `1 / √(variance + epsilon)`
fn inverse_deviation(
    node: &mut NodeLowering<'_>,
    variance: ValueId,
    epsilon: f64,
) -> Result<ValueId, ImportError> {
    let shifted = node.with_number(ElementOp::Add, variance, epsilon)?;
    let deviation = node.unary(ElementOp::SquareRoot, shifted)?;
    node.number_over(1.0, deviation)
}

/// `deviations · (inverse_deviation · scale) + bias`: the small tensors are multiplied first.
fn scaled(
    node: &mut NodeLowering<'_>,
    deviations: ValueId,
    inverse_deviation: ValueId,
    scale: ValueId,
    bias: ValueId,
) -> Result<ValueId, ImportError> {
    let factor = node.binary(ElementOp::Multiply, inverse_deviation, scale)?;
    let product = node.binary(ElementOp::Multiply, deviations, factor)?;
    node.binary(ElementOp::Add, product, bias)
}

/// `[1, C, 1, …]`
fn by_channel(channels: usize, rank: usize) -> Vec<usize> {
    let mut shape = vec![1; rank];
    shape[1] = channels;
    shape
}
