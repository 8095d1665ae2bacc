//! Counts the correct predictions of a batch as graph nodes, for executors that do not return the outputs.

use folkmoot_graph::op::{ElementOp, Reduction, ShapeError};
use folkmoot_graph::{Graph, ValueId};
use folkmoot_protocol::Loss;

use super::{LabelForm, Layout};

/// Appends the number of examples whose classes are all predicted correctly, as a scalar; 0 if labels are target
/// values.
///
/// # Errors
/// Returns a [`ShapeError`] if a shape does not match the layout.
pub fn right_answers(
    graph: &mut Graph,
    loss: Loss,
    layout: &Layout,
    output: ValueId,
    labels: ValueId,
) -> Result<ValueId, ShapeError> {
    let batch = graph.shape(output).first().copied().unwrap_or(1);
    let output = graph.reshape(output, &layout.output_shape(batch))?;
    let is_right = match (layout.form, loss) {
        (LabelForm::Classes, _) => {
            let axis = graph.shape(output).len() - 1;
            let largest = graph.argument_of_maximum(output, axis, false);
            let shape = graph.shape(largest).to_vec();
            let labels = graph.reshape(labels, &shape)?;
            graph.element(ElementOp::Equal, &[largest, labels])?
        }
        (LabelForm::Values, Loss::BinaryCrossEntropy | Loss::Hinge) => {
            let (zero, half) = (graph.add_scalar(0.0), graph.add_scalar(0.5));
            let found = graph.element(ElementOp::Less, &[zero, output])?;
            let wanted = graph.element(ElementOp::Less, &[half, labels])?;
            graph.element(ElementOp::Equal, &[found, wanted])?
        }
        (LabelForm::Values | LabelForm::Ignored(_), _) => return Ok(graph.add_scalar(0.0)),
    };
    let axes: Vec<usize> = (0..graph.shape(is_right).len()).collect();
    let of_examples = match axes.len() {
        0 | 1 => is_right,
        _ => graph.reduce(Reduction::Minimum, is_right, &axes[1..]),
    };
    Ok(graph.reduce(Reduction::Sum, of_examples, &axes))
}
