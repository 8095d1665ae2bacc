//! `Resize` and its predecessor `Upsample`: interpolation along each axis in turn.

mod coordinates;

use super::{NodeLowering, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use crate::tensor::{Constant, ElementType};
use coordinates::{Coordinates, Method, Scale, Taps};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::ElementOp;

const ATTRIBUTES: [&str; 10] = [
    "antialias",
    "axes",
    "coordinate_transformation_mode",
    "cubic_coeff_a",
    "exclude_outside",
    "extrapolation_value",
    "keep_aspect_ratio_policy",
    "mode",
    "nearest_mode",
    "scales",
];

/// `Resize`. Before opset 11, it has two inputs and reads position `p / scale`.
pub(super) fn resize(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&ATTRIBUTES)?;
    let is_old = node.opset < 11;
    node.expect_inputs(if is_old { 2..=2 } else { 1..=4 })?;
    let coordinates = match (is_old, attributes.text("coordinate_transformation_mode")?) {
        (true, _) => Coordinates::Asymmetric,
        (_, name) => coordinates::named(node, name.unwrap_or("half_pixel"))?,
    };
    if attributes.flag("antialias")? {
        return Err(node.refuse("has antialias, which is not supported; export the model without it"));
    }
    let method = method(node, &attributes)?;
    let scales = scales(node, &attributes, if is_old { 1 } else { 2 }, 3)?;
    interpolate(node, &scales, coordinates, method)
}

/// `Upsample`, which exporters wrote before opset 10.
pub(super) fn upsample(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["mode", "scales"])?;
    node.expect_inputs(1..=2)?;
    let method = method(node, &attributes)?;
    let scales = scales(node, &attributes, 1, usize::MAX)?;
    interpolate(node, &scales, Coordinates::Asymmetric, method)
}

fn method(node: &NodeLowering<'_>, attributes: &Attributes<'_>) -> Result<Method, ImportError> {
    match attributes.text("mode")?.unwrap_or("nearest") {
        "nearest" => {
            let default = if node.opset < 11 { "floor" } else { "round_prefer_floor" };
            let name = attributes.text("nearest_mode")?.unwrap_or(default);
            Ok(Method::Nearest(coordinates::rounding(node, name)?))
        }
        "linear" | "bilinear" | "trilinear" => Ok(Method::Linear),
        "cubic" => {
            let (a, excludes) =
                (attributes.float("cubic_coeff_a", -0.75)?, attributes.flag("exclude_outside")?);
            Ok(Method::Cubic { a: a.into(), excludes_outside: excludes })
        }
        other => Err(node.refuse(&format!("has the mode {other}; nearest, linear and cubic are supported"))),
    }
}

/// Returns the scale of every axis, from the scales or from the sizes, whichever the node has.
fn scales(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    scales_at: usize,
    sizes_at: usize,
) -> Result<Vec<Scale>, ImportError> {
    let shape = node.shape(node.value(0)?);
    let rank = shape.len();
    let axes = match attributes.integers("axes")? {
        Some(axes) => {
            node.axes(axes, rank)?;
            axes.iter().map(|axis| node.axis(*axis, rank)).collect::<Result<Vec<_>, _>>()?
        }
        None => (0..rank).collect(),
    };
    let known = |position| node.known_numbers(position).map(|numbers| numbers.filter(|all| !all.is_empty()));
    let (given, sizes) = match (known(scales_at)?, known(sizes_at)?) {
        (Some(scales), None) => (scales.to_vec(), false),
        (None, Some(sizes)) => (sizes.to_vec(), true),
        (None, None) => match attributes.floats("scales")? {
            Some(scales) => (scales.iter().map(|scale| f64::from(*scale)).collect(), false),
            None => return Err(node.refuse("has neither scales nor sizes; it must have one of them")),
        },
        (Some(_), Some(_)) => return Err(node.refuse("has both scales and sizes; it must have one of them")),
    };
    if given.len() != axes.len() {
        return Err(node.refuse(&format!("has {} scales or sizes for {} axes", given.len(), axes.len())));
    }
    let mut scales: Vec<Scale> =
        shape.iter().map(|size| Scale { factor: 1.0, from: *size, to: *size }).collect();
    for (axis, number) in axes.iter().zip(&given) {
        let from = shape[*axis] as f64;
        let (factor, to) = if sizes { (number / from, *number) } else { (*number, (from * number).floor()) };
        if !(factor > 0.0 && to >= 1.0 && to <= node.budget.limits.tensor_elements_max as f64) {
            let limit = node.budget.limits.tensor_elements_max;
            return Err(node.refuse(&format!(
                "resizes an axis of {from} positions to {to}; the result must have 1 to {limit}"
            )));
        }
        scales[*axis] = Scale { factor, from: shape[*axis], to: to as usize };
    }
    if sizes {
        keep_ratio(node, attributes, &axes, &mut scales)?;
    }
    Ok(scales)
}

/// Applies `keep_aspect_ratio_policy`: sizes are bounds, and all axes get the same scale.
fn keep_ratio(
    node: &NodeLowering<'_>,
    attributes: &Attributes<'_>,
    axes: &[usize],
    scales: &mut [Scale],
) -> Result<(), ImportError> {
    let factors = axes.iter().map(|axis| scales[*axis].factor);
    let factor = match attributes.text("keep_aspect_ratio_policy")?.unwrap_or("stretch") {
        "stretch" => return Ok(()),
        "not_larger" => factors.fold(f64::INFINITY, f64::min),
        "not_smaller" => factors.fold(0.0, f64::max),
        other => {
            return Err(node.refuse(&format!(
                "has the unknown keep_aspect_ratio_policy {other}; stretch, not_larger and not_smaller are supported"
            )));
        }
    };
    for axis in axes {
        let to = (factor * scales[*axis].from as f64 + 0.5).floor().max(1.0);
        let limit = node.budget.limits.tensor_elements_max;
        if to > limit as f64 {
            return Err(node.refuse(&format!("resizes an axis to {to} positions; the limit is {limit}")));
        }
        scales[*axis] = Scale { factor, from: scales[*axis].from, to: to as usize };
    }
    Ok(())
}

/// Resizes the axes in turn: each position of the result is a weighted sum of positions of the input.
fn interpolate(
    node: &mut NodeLowering<'_>,
    scales: &[Scale],
    coordinates: Coordinates,
    method: Method,
) -> Outputs {
    let input = node.input(0)?;
    let mut value = input.value;
    for (axis, scale) in scales.iter().enumerate() {
        if scale.is_identity() {
            continue;
        }
        let mut shape = node.shape(value);
        shape[axis] = scale.to;
        node.fits(&shape)?;
        node.budget.room_for_constants(method.tap_count().saturating_mul(2 * scale.to))?;
        let taps = coordinates::taps(scale, coordinates, method);
        value = weighted(node, value, axis, &taps)?;
    }
    Ok(vec![input.with(value)])
}

/// Returns `Σ value[positions] · weights` along an axis.
fn weighted(
    node: &mut NodeLowering<'_>,
    value: ValueId,
    axis: usize,
    taps: &[Taps],
) -> Result<ValueId, ImportError> {
    let mut column = vec![1; node.graph.shape(value).len()];
    column[axis] = taps[0].positions.len();
    let mut sum = None;
    for Taps { positions, weights } in taps {
        if weights.iter().all(|weight| *weight == 0.0) {
            continue;
        }
        let shape = vec![positions.len()];
        let elements = positions.iter().map(|position| *position as f64).collect();
        let positions = node.constant(Constant { shape, elements, element_type: ElementType::Integer });
        let mut part = node.gather(value, positions.value, axis)?;
        if weights.iter().any(|weight| *weight != 1.0) {
            let (shape, elements) = (column.clone(), weights.clone());
            let weights = node.constant(Constant { shape, elements, element_type: ElementType::Float });
            part = node.binary(ElementOp::Multiply, part, weights.value)?;
        }
        sum = Some(match sum {
            None => part,
            Some(sum) => node.binary(ElementOp::Add, sum, part)?,
        });
    }
    sum.ok_or_else(|| node.refuse("resizes with weights that are all 0"))
}
