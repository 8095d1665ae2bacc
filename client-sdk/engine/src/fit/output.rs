//! Chooses the output that a loss fits.

use folkmoot_onnx::{ModelOutput, Obstacle};
use folkmoot_protocol::Loss;

use super::FitError;
use crate::model::Model;

/// Returns the model with the only output that a loss fits.
///
/// # Errors
/// Returns [`FitError::Outputs`] if the loss fits several or none.
pub(super) fn fitting(model: &Model, loss: Loss) -> Result<Model, FitError> {
    let reasons = model.outputs().iter().map(|output| (output, misfit(model, output, loss)));
    let reasons: Vec<(&ModelOutput, Option<String>)> = reasons.collect();
    let fitting: Vec<&ModelOutput> =
        reasons.iter().filter(|(_, reason)| reason.is_none()).map(|(output, _)| *output).collect();
    // The author may want an output that depends on an unsupported operator.
    let is_refused = |output: &ModelOutput| matches!(output.obstacle, Some(Obstacle::Operators(_)));
    if let ([output], false) = (&fitting[..], model.outputs().iter().any(is_refused)) {
        let chosen = model.with_output(&output.name);
        return chosen.map_err(|error| FitError::Output { reason: error.to_string() });
    }
    let listed = reasons.into_iter().map(|(output, reason)| match reason {
        Some(reason) => format!("\n- {} {reason}", output.name),
        None => format!("\n- {} [N{}] fits", output.name, dims(&output.shape)),
    });
    let (found, listed) = (fitting.len(), listed.collect());
    Err(FitError::Outputs { loss: loss.name(), found, listed })
}

/// Returns the reason why a loss does not fit an output, as a predicate; `None` if it fits.
fn misfit(model: &Model, output: &ModelOutput, loss: Loss) -> Option<String> {
    if let Some(obstacle) = &output.obstacle {
        return Some(obstacle.to_string());
    }
    let needs_several = loss.contains_softmax() || loss == Loss::Cosine;
    if needs_several && output.shape.last().is_none_or(|size| *size < 2) {
        return Some(format!("has shape [N{}], and the loss needs two numbers or more", dims(&output.shape)));
    }
    let (name, input) = model.contained_activation(&output.name, loss)?;
    Some(format!("ends with {name}, which the loss contains; its input is {input}"))
}

fn dims(shape: &[usize]) -> String {
    shape.iter().map(|size| format!(", {size}")).collect()
}
