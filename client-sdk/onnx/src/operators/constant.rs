//! Constant tensors: `Constant`, `ConstantOfShape`, `Range`, `Shape` and `Size`.

use super::{NodeLowering, Outputs};
use crate::limits::RANK_MAX;
use crate::node::Tensor;
use crate::tensor::{self, Constant, ElementType};
use folkmoot_graph::op::volume;

/// The attributes that can hold a constant's value.
const FORMS: &[&str] = &["value", "value_float", "value_floats", "value_int", "value_ints"];

/// `Constant`
pub(super) fn constant(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(FORMS)?;
    node.expect_inputs(0..=0)?;
    let [attribute] = &node.proto.attribute[..] else {
        return Err(node.refuse("must have exactly one value"));
    };
    let listed = |shape, elements, element_type| Constant { shape, elements, element_type };
    let (floats, integers) = (&attribute.floats, &attribute.ints);
    let constant = match attribute.name.as_str() {
        "value_float" => listed(vec![], vec![attribute.f.into()], ElementType::Float),
        "value_floats" => {
            let elements = floats.iter().map(|element| f64::from(*element)).collect();
            listed(vec![floats.len()], elements, ElementType::Float)
        }
        "value_int" => listed(vec![], vec![attribute.i as f64], ElementType::Integer),
        "value_ints" => {
            let elements = integers.iter().map(|element| *element as f64).collect();
            listed(vec![integers.len()], elements, ElementType::Integer)
        }
        _ => match attributes.tensor("value")? {
            Some(proto) => tensor::constant(proto, &node.budget.limits)?,
            None => return Err(node.refuse("has no value")),
        },
    };
    if constant.elements.iter().any(|element| element.is_nan()) {
        return Err(node.refuse("has an element that is NaN"));
    }
    node.budget.room_for_constants(constant.elements.len())?;
    Ok(vec![node.constant(constant)])
}

/// `ConstantOfShape`: a number, repeated.
pub(super) fn of_shape(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["value"])?;
    node.expect_inputs(1..=1)?;
    let (number, element_type) = match attributes.tensor("value")? {
        None => (0.0, ElementType::Float),
        Some(proto) => match &tensor::constant(proto, &node.budget.limits)? {
            Constant { elements, element_type, .. } if elements.len() == 1 => (elements[0], *element_type),
            _ => return Err(node.refuse("has a value that is not a single element")),
        },
    };
    let sizes = node.known_integers(0)?.unwrap_or_default();
    let shape: Option<Vec<usize>> = sizes.iter().map(|size| usize::try_from(*size).ok()).collect();
    let shape = shape.filter(|shape| shape.len() <= RANK_MAX);
    let refuse = || {
        node.refuse(&format!("creates a tensor with a negative dimension or more than {RANK_MAX} dimensions"))
    };
    let shape = shape.ok_or_else(refuse)?;
    let elements = node.fits(&shape)?;
    if elements == 0 {
        return Ok(vec![Tensor { value: node.empty(&shape), element_type }]);
    }
    node.budget.room_for_constants(elements)?;
    let value = node.graph.add_scalar(number);
    Ok(vec![Tensor { value: node.broadcast_to(value, &shape)?, element_type }])
}

/// `Range`: from `start` in steps of `delta` up to, but not including, `limit`.
pub(super) fn range(node: &mut NodeLowering<'_>) -> Outputs {
    // `stash_type` is the type to compute with for half-precision floats.
    node.attributes(&["stash_type"])?;
    node.expect_inputs(3..=3)?;
    let mut numbers = [0.0; 3];
    for (position, number) in numbers.iter_mut().enumerate() {
        *number = node.known_number(position)?.unwrap_or_default();
    }
    let [start, limit, delta] = numbers;
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() {
        return Err(node.refuse("has a delta that never reaches its limit"));
    }
    let count = node.fits(&[count as usize])?;
    node.budget.room_for_constants(count)?;
    let elements = (0..count).map(|index| start + index as f64 * delta).collect();
    let element_type = node.input(0)?.element_type;
    Ok(vec![node.constant(Constant { shape: vec![count], elements, element_type })])
}

/// `Shape`, or a part of it.
pub(super) fn shape(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["start", "end"])?;
    node.expect_inputs(1..=1)?;
    let shape = node.shape(node.value(0)?);
    let rank = shape.len() as i64;
    let inside = |axis: i64| if axis < 0 { axis.saturating_add(rank) } else { axis }.clamp(0, rank) as usize;
    let start = inside(attributes.integer("start", 0)?);
    let end = inside(attributes.integer("end", i64::MAX)?).max(start);
    let elements: Vec<f64> = shape[start..end].iter().map(|size| *size as f64).collect();
    let shape = vec![elements.len()];
    Ok(vec![node.constant(Constant { shape, elements, element_type: ElementType::Integer })])
}

/// `Size`: the number of elements.
pub(super) fn size(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(1..=1)?;
    let size = volume(node.graph.shape(node.value(0)?)) as f64;
    Ok(vec![Tensor::integer(node.graph.add_scalar(size))])
}
