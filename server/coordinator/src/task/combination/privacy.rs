//! Checks for choices that contradict differential privacy. Each rule rejects a choice that would release data without
//! enough noise.

use folkmoot_aggregation::AggregatorChoice;

use super::super::{Fault, TaskDescription};
use crate::{privacy::PrivacyChoice, scheduling::SchedulingChoice, selection::SelectionChoice};

/// Lists the contradictions between differential privacy and other choices.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    match description.privacy {
        PrivacyChoice::None => return,
        PrivacyChoice::Central(_) => {
            rounds_have_a_goal(description, faults);
            clients_count_alike(description, faults);
        }
        PrivacyChoice::Distributed(_) => {
            shares_are_masked(description, faults);
            clients_count_alike(description, faults);
        }
        PrivacyChoice::Local(_) => counts_are_not_weights(description, faults),
    }
    noise_has_a_guarantee(description, faults);
    nothing_comes_back_after_clipping(description, faults);
    draws_do_not_look_at_data(description, faults);
    nothing_else_is_released(description, faults);
}

/// The noise is calibrated to a fixed denominator and added once, to the complete sum of a round.
fn rounds_have_a_goal(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if !matches!(description.scheduling, SchedulingChoice::Synchronous(_)) {
        faults.push(Fault::new(
            "scheduling.kind",
            "the noise of privacy.kind is calculated for a fixed report goal, which this scheduling.kind does not have",
            "choose scheduling.kind = \"synchronous\"",
        ));
    }
}

/// One client's share of the noise does not protect an update that the coordinator can read.
fn shares_are_masked(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if !description.protection.is_masked() {
        faults.push(Fault::new(
            "privacy.kind",
            "distributed noise protects only sums, but the coordinator would see single updates",
            "add [protection.secure_aggregation] or [protection.committee], or choose privacy.kind = \"central\" or \"local\"",
        ));
    }
}

/// A weight would multiply the influence of one client, and would reveal its number of examples.
fn clients_count_alike(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if !matches!(description.aggregator, AggregatorChoice::UniformMean | AggregatorChoice::Flame(_)) {
        faults.push(Fault::new(
            "aggregator.kind",
            "privacy.kind needs the same weight for every client, but this aggregator.kind uses other weights",
            "choose aggregator.kind = \"uniform_mean\"",
        ));
    }
}

/// FLAME scales its noise by a norm that follows from the updates, and adds it to a mean of some of them.
fn noise_has_a_guarantee(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if matches!(description.aggregator, AggregatorChoice::Flame(_)) {
        faults.push(Fault::new(
            "aggregator.kind",
            "flame adds noise against backdoors, which gives no guarantee that the ledger could account for",
            "choose aggregator.kind = \"uniform_mean\" for the privacy of privacy.kind, or remove [privacy]",
        ));
    }
}

/// Error feedback adds back what clipping removed, so an update could exceed the clipping norm.
fn nothing_comes_back_after_clipping(description: &TaskDescription, faults: &mut Vec<Fault>) {
    for (field, _) in description.recipes().filter(|(_, recipe)| recipe.uses_memory()) {
        faults.push(Fault::new(
            &format!("{field}.codec"),
            "the codec adds parts of earlier updates after clipping, so an update may exceed the clipping norm of privacy.kind",
            "choose an unbiased codec, such as \"eden:4\"",
        ));
    }
}

/// No noise is added to the number of a client's examples, so a mean must not use this number as a weight.
fn counts_are_not_weights(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if matches!(
        description.aggregator,
        AggregatorChoice::WeightedMean | AggregatorChoice::BoundedMean(_) | AggregatorChoice::NormBound(_)
    ) {
        faults.push(Fault::new(
            "aggregator.kind",
            "it weights clients by their example counts, which privacy.kind must not reveal",
            "choose aggregator.kind = \"uniform_mean\"",
        ));
    }
}

/// The draw is visible, so it must not depend on the data.
fn draws_do_not_look_at_data(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let looks_at = match description.selection {
        SelectionChoice::WeightedByExamples => "the clients' example counts",
        SelectionChoice::Oort(_) => "the clients' losses",
        SelectionChoice::SpeedTiers(_) => "the clients' training times",
        SelectionChoice::Component(_) => {
            "the clients' losses, example counts and times, which a component can read"
        }
        _ => return,
    };
    faults.push(Fault::new(
        "selection.kind",
        format!("it depends on {looks_at}, but privacy.kind does not hide which clients are drawn"),
        "choose selection.kind = \"uniform\"",
    ));
}

/// Clients' metrics would be released without noise.
fn nothing_else_is_released(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.evaluation.as_ref().is_some_and(|one| one.federated.is_some()) {
        faults.push(Fault::new(
            "evaluation.federated",
            "it would release the clients' metrics without noise, but privacy.kind requires noise",
            "set evaluation.central = true and evaluate on your own data",
        ));
    }
}
