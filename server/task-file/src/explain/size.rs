//! Explains the traffic between a client and the coordinator.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{saturating::to_whole, update::HEADER_BYTES};

use super::{
    ModelSize,
    quantity::{bytes, grouped},
};

/// Returns sentences about the number of bytes that a client downloads and uploads.
pub(super) fn traffic(description: &TaskDescription, model: ModelSize) -> Vec<String> {
    let weights = model.trained.saturating_mul(size_of::<f32>() as u64);
    let update = weights.saturating_add(HEADER_BYTES as u64);
    let policy = description.scheduling.policy();
    let mut said = vec![format!(
        "The model has {} parameters. A client downloads its graph once ({}).",
        grouped(model.parameters),
        bytes(model.model_bytes)
    )];
    if model.trained < model.parameters {
        said.push(format!(
            "Of these, {} are trained and sent; the others keep their values from the model file.",
            grouped(model.trained)
        ));
    }
    said.push(format!(
        "For each assignment, it downloads about {} and uploads {}.",
        bytes(weights),
        bytes(update)
    ));
    for (_, recipe) in description.recipes() {
        let codec = recipe.codec;
        let Some(bits) = codec.nominal_bits() else { continue };
        said.push(format!(
            "With {codec}, an upload is about {}.",
            bytes(to_whole(model.trained as f64 * bits / 8.0).saturating_add(HEADER_BYTES as u64))
        ));
    }
    if policy.flow().is_none() && description.sampled().is_none() {
        let (fewest, most) = policy.updates();
        said.push(format!(
            "The coordinator receives {} to {} in a round{}.",
            bytes(update.saturating_mul(fewest)),
            bytes(update.saturating_mul(most)),
            if description.recipes().next().is_some() { " if no client compresses" } else { "" }
        ));
    }
    if description.evaluation.as_ref().is_some_and(|evaluation| evaluation.federated.is_some()) {
        said.push(format!(
            "A client that evaluates a version downloads about {} and uploads {}.",
            bytes(weights),
            bytes(HEADER_BYTES as u64)
        ));
    }
    said
}
