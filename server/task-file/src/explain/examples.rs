//! Explains how a client changes its examples, which of them it trains on, and the limits of its weights.

use folkmoot_protocol::{
    Augmentation, Curriculum, L1, ModelContrast, SmallLossSelection, TrainingPlan, ValueRange,
};

use super::quantity::{count, listed, percent};

pub(super) fn local_rules(plan: &TrainingPlan) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(plan.augmentation.as_deref().and_then(augmentation));
    said.extend(plan.curriculum.map(curriculum));
    said.extend(plan.small_loss_selection.map(small_loss_selection));
    said.extend(plan.model_contrast.as_deref().map(model_contrast));
    said.extend(plan.l1.as_deref().map(l1));
    said.extend(plan.value_range.as_deref().map(value_range));
    said
}

fn augmentation(one: &Augmentation) -> Option<String> {
    let mut changes = Vec::new();
    if one.noise > 0.0 {
        changes.push(format!("adds Gaussian noise with a standard deviation of {}", one.noise));
    }
    changes.extend(one.cutout.map(|side| format!("masks a square of {side} by {side} pixels (cutout)")));
    changes.extend(one.stretch_masks.iter().map(|mask| {
        let stretches =
            if mask.count == 1 { "a stretch".into() } else { format!("{} stretches", mask.count) };
        format!(
            "masks {stretches} of at most {} positions along axis {} (SpecAugment)",
            mask.length_max, mask.axis
        )
    }));
    changes.extend(
        one.mixup.map(|alpha| format!("mixes pairs of examples and labels with an alpha of {alpha} (mixup)")),
    );
    (!changes.is_empty()).then(|| {
        format!(
            "In each step, a client changes its examples at random: it {}. Use this if clients have few examples and the model learns \
             them by heart. It costs more steps until the model is as good.",
            changes.join(", and ")
        )
    })
}

fn curriculum(one: Curriculum) -> String {
    format!(
        "The first step draws from the {} of the examples that are easiest for the version, and the share grows over {} (a \
         curriculum). Use this if hard or wrong examples disturb the beginning of a training. It costs an evaluation of all examples \
         before each training, and hard examples are seen less often.",
        percent(to_double(one.first_share)),
        count(one.steps.into(), "step")
    )
}

fn small_loss_selection(one: SmallLossSelection) -> String {
    let growth = match one.steps {
        0 => String::new(),
        steps => format!(", fewer in its first {}", count(steps.into(), "step")),
    };
    format!(
        "Each step leaves out the {} of its examples with the largest losses{growth} (the selection of co-teaching, with one model). \
         Use this if about as many labels are wrong. It costs a third more time for each step, and examples that are right but hard or \
         rare; it trains on the CPU.",
        percent(to_double(one.forget_rate))
    )
}

fn model_contrast(one: &ModelContrast) -> String {
    format!(
        "A term of the loss with weight {} and temperature {} keeps {} near to its values in the version, and away from those in the client's \
         last local model (MOON). Use this if clients have different kinds of examples. It costs the storage of one more model on the \
         device, and two thirds more time for each step; it trains on the CPU.",
        one.weight, one.temperature, one.features
    )
}

fn l1(one: &L1) -> String {
    format!(
        "After each step, the tensors named {} take a proximal step of {} times the sum of their absolute values, which sets small \
         values to 0. Use this if few features matter. It costs accuracy if the penalty is too large, and the mean of the clients' \
         models has fewer zeros than each of them. It trains on the CPU.",
        listed(&one.tensors),
        one.strength
    )
}

fn value_range(one: &ValueRange) -> String {
    let range = match (one.min, one.max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("of {min} or more"),
        (_, max) => format!("of at most {}", max.unwrap_or(f32::INFINITY)),
    };
    format!(
        "After each step, values of the tensors named {} move to the nearest value {range}. Use this if other values make no sense, \
         such as negative rates. It costs no time, and trains on the CPU.",
        listed(&one.tensors)
    )
}

/// Returns the double that a person wrote as this single: 0.3 rather than 0.30000001.
fn to_double(share: f32) -> f64 {
    (f64::from(share) * 1e6).round() / 1e6
}
