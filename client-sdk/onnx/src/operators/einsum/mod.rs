//! `Einsum`: multiplies tensors two at a time as matrices after transposing them, and sums over labels that are no
//! longer needed.

mod equation;

use std::collections::BTreeSet;

use super::{NodeLowering, Outputs};
use crate::ImportError;
use equation::{Equation, Label, Labels};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{Reduction, volume};

/// A tensor with labelled axes.
struct Labelled {
    value: ValueId,
    labels: Labels,
}

/// Lowers `Einsum`.
pub(super) fn einsum(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["equation"])?;
    let text = attributes.text("equation")?.ok_or_else(|| node.refuse("lacks an equation"))?;
    let mut values = Vec::new();
    for position in 0..node.inputs.len() {
        values.push(node.value(position)?);
    }
    let ranks: Vec<usize> = values.iter().map(|value| node.graph.shape(*value).len()).collect();
    let Equation { operands, output } =
        equation::parse(text, &ranks).map_err(|reason| node.refuse(&format!("{reason} in {text}")))?;
    check_sizes(node, &operands, &values)?;
    let mut rest: Vec<Labelled> =
        values.into_iter().zip(operands).map(|(value, labels)| Labelled { value, labels }).collect();
    rest.reverse();
    let mut result = rest.pop().ok_or_else(|| node.refuse("has no inputs"))?;
    while let Some(next) = rest.pop() {
        let later = rest.iter().flat_map(|operand| &operand.labels);
        let needed: BTreeSet<Label> = output.iter().chain(later).copied().collect();
        result = product(node, result, next, &needed)?;
    }
    let needed = output.iter().copied().collect();
    let result = summed(node, result, &needed)?;
    let axes = positions(&result.labels, &output);
    let first = node.input(0)?;
    Ok(vec![first.with(node.transpose(result.value, &axes)?)])
}

/// Checks that all axes with the same label have the same size; axes of an ellipsis may also have size 1.
fn check_sizes(node: &NodeLowering<'_>, operands: &[Labels], values: &[ValueId]) -> Result<(), ImportError> {
    let mut sizes: Vec<(Label, usize)> = Vec::new();
    for (labels, value) in operands.iter().zip(values) {
        for (label, size) in labels.iter().zip(node.graph.shape(*value)) {
            let known = sizes.iter().find(|(known, _)| known == label).map(|(_, size)| *size);
            match known {
                None => sizes.push((*label, *size)),
                Some(known) if known == *size => {}
                // The product reports axes that do not broadcast.
                Some(_) if matches!(label, Label::Ellipsis(_)) => {}
                Some(known) => {
                    return Err(node.refuse(&format!("has one label for axes of {known} and {size}")));
                }
            }
        }
    }
    Ok(())
}

/// Multiplies two tensors. Sums over the labels that both have and that are not needed afterwards.
fn product(
    node: &mut NodeLowering<'_>,
    a: Labelled,
    b: Labelled,
    needed: &BTreeSet<Label>,
) -> Result<Labelled, ImportError> {
    let of_both: BTreeSet<Label> =
        a.labels.iter().filter(|label| b.labels.contains(label)).copied().collect();
    let kept: BTreeSet<Label> = needed.union(&of_both).copied().collect();
    let (a, b) = (summed(node, a, &kept)?, summed(node, b, &kept)?);
    let of = |labels: &Labels, wanted: &dyn Fn(&Label) -> bool| -> Labels {
        labels.iter().filter(|label| wanted(label)).copied().collect()
    };
    let is_ellipsis = |label: &Label| matches!(label, Label::Ellipsis(_));
    let batch =
        of(&a.labels, &|label| of_both.contains(label) && (needed.contains(label) || is_ellipsis(label)));
    let contracted = of(&a.labels, &|label| of_both.contains(label) && !batch.contains(label));
    let (rows, columns) =
        (of(&a.labels, &|label| !of_both.contains(label)), of(&b.labels, &|label| !of_both.contains(label)));
    let (left, left_shape) = as_matrix(node, &a, [&batch, &rows, &contracted])?;
    let (right, right_shape) = as_matrix(node, &b, [&batch, &contracted, &columns])?;
    let matrix = node.matmul(left, right, [false, false])?;
    let batch_shape = node.shape(matrix)[..batch.len()].to_vec();
    let row_shape = &left_shape[batch.len()..batch.len() + rows.len()];
    let column_shape = &right_shape[batch.len() + contracted.len()..];
    let value = node.reshape(matrix, &[&batch_shape, row_shape, column_shape].concat())?;
    Ok(Labelled { value, labels: [batch, rows, columns].concat() })
}

/// Returns a tensor reshaped to `[batch…, first, second]`, and its shape with all labels in that order.
fn as_matrix(
    node: &mut NodeLowering<'_>,
    tensor: &Labelled,
    [batch, first, second]: [&Labels; 3],
) -> Result<(ValueId, Vec<usize>), ImportError> {
    let order = [&batch[..], first, second].concat();
    let value = node.transpose(tensor.value, &positions(&tensor.labels, &order))?;
    let shape = node.shape(value);
    let (batch_shape, rest) = shape.split_at(batch.len());
    let sides = [volume(&rest[..first.len()]), volume(&rest[first.len()..])];
    let matrix = node.reshape(value, &[batch_shape, &sides].concat())?;
    Ok((matrix, shape))
}

/// Sums over the labels that are not needed.
fn summed(
    node: &mut NodeLowering<'_>,
    tensor: Labelled,
    needed: &BTreeSet<Label>,
) -> Result<Labelled, ImportError> {
    let is_needed = |axis: &usize| needed.contains(&tensor.labels[*axis]);
    let axes: Vec<usize> = (0..tensor.labels.len()).filter(|axis| !is_needed(axis)).collect();
    if axes.is_empty() {
        return Ok(tensor);
    }
    let kept: Vec<usize> = (0..tensor.labels.len()).filter(is_needed).collect();
    let shape = node.shape(tensor.value);
    let sum = node.reduce(Reduction::Sum, tensor.value, &axes);
    let shape: Vec<usize> = kept.iter().map(|axis| shape[*axis]).collect();
    let value = node.reshape(sum, &shape)?;
    Ok(Labelled { value, labels: kept.iter().map(|axis| tensor.labels[*axis]).collect() })
}

/// Returns the position of each label of `order`.
fn positions(labels: &[Label], order: &[Label]) -> Vec<usize> {
    order.iter().filter_map(|label| labels.iter().position(|other| other == label)).collect()
}
