//! `Gather`: embeddings, and elements of shapes.

use super::{NodeLowering, Outputs};

/// Reads an axis at positions; negative positions count from the end.
pub(super) fn gather(node: &mut NodeLowering<'_>) -> Outputs {
    let axis = node.attributes(&["axis"])?.integer("axis", 0)?;
    node.expect_inputs(2..=2)?;
    let (data, positions) = (node.input(0)?, node.value(1)?);
    let shape = node.shape(data.value);
    let axis = node.axis(axis, shape.len())?;
    if let Some(positions) = node.graph.constant(positions) {
        let size = shape[axis] as f64;
        if let Some(outside) = positions.iter().find(|position| !(-size..size).contains(*position)) {
            return Err(node.refuse(&format!("reads position {outside} of an axis of size {size}")));
        }
    }
    Ok(vec![data.with(node.gather(data.value, positions, axis)?)])
}
