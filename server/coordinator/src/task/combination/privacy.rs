//! What differential privacy goes with. Every rule closes a way around the noise.

use super::super::{Fault, TaskDescription};
use crate::{aggregation::AggregatorChoice, scheduling::SchedulingChoice, selection::SelectionChoice};

/// Lists the choices that contradict differential privacy.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.privacy.is_none() {
        return;
    }
    if description.privacy.central().is_some() {
        rounds_have_a_goal(description, faults);
        clients_count_alike(description, faults);
    } else {
        counts_are_not_weights(description, faults);
    }
    nothing_comes_back_after_clipping(description, faults);
    draws_do_not_look_at_data(description, faults);
    nothing_else_is_released(description, faults);
}

/// The noise is measured against a fixed denominator, and is added to a sum that was formed once.
fn rounds_have_a_goal(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if !matches!(description.scheduling, SchedulingChoice::Synchronous(_)) {
        faults.push(Fault::new(
            "scheduling.kind",
            "privacy.kind adds noise for a report goal, which this scheduling has not",
            "choose scheduling.kind = \"synchronous\"",
        ));
    }
}

/// A weight would multiply what one client can do, and tell how many examples it holds.
fn clients_count_alike(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.aggregator != AggregatorChoice::UniformMean {
        faults.push(Fault::new(
            "aggregator.kind",
            "privacy.kind bounds what one client can change, and this rule lets clients count differently",
            "choose aggregator.kind = \"uniform_mean\"",
        ));
    }
}

/// A memory brings back what clipping took away: an update would be longer than the norm.
fn nothing_comes_back_after_clipping(description: &TaskDescription, faults: &mut Vec<Fault>) {
    for (field, _) in description.recipes().filter(|(_, recipe)| recipe.uses_memory()) {
        faults.push(Fault::new(
            &format!("{field}.codec"),
            "its memory brings back what was left out of earlier updates, past the clipping of privacy.kind",
            "choose an unbiased codec, such as \"eden:4\"",
        ));
    }
}

/// A client's count of examples is not noised.
fn counts_are_not_weights(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if matches!(
        description.aggregator,
        AggregatorChoice::WeightedMean | AggregatorChoice::BoundedMean(_) | AggregatorChoice::NormBound(_)
    ) {
        faults.push(Fault::new(
            "aggregator.kind",
            "it weighs by the examples of clients, which privacy.kind does not let them tell",
            "choose aggregator.kind = \"uniform_mean\"",
        ));
    }
}

/// The schedule is not hidden, so it must not follow from the data.
fn draws_do_not_look_at_data(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let looks_at = match description.selection {
        SelectionChoice::WeightedByExamples => "the examples that clients hold",
        SelectionChoice::Oort(_) => "the losses of clients",
        SelectionChoice::SpeedTiers(_) => "how long trainings took",
        _ => return,
    };
    faults.push(Fault::new(
        "selection.kind",
        format!("it looks at {looks_at}, and who is drawn is not hidden by privacy.kind"),
        "choose selection.kind = \"uniform\"",
    ));
}

/// What clients measure would be released without noise.
fn nothing_else_is_released(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.evaluation.as_ref().is_some_and(|one| one.federated.is_some()) {
        faults.push(Fault::new(
            "evaluation.federated",
            "the metrics of clients would be released without noise, beside privacy.kind",
            "measure with central = true, on data that is the operator's",
        ));
    }
}
