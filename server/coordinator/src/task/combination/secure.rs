//! Checks for choices that contradict secure aggregation: each needs to see single updates, or a cohort that stays together.

use folkmoot_aggregation::AggregatorChoice;

use super::super::{Fault, TaskDescription};
use crate::{
    privacy::{Clipping, PrivacyChoice},
    scheduling::SchedulingChoice,
    selection::SelectionChoice,
};

/// Lists the contradictions between secure aggregation and other choices.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if !description.protection.is_masked() {
        return;
    }
    let mut refuse = |is_wrong: bool, field: &str, message: &str, remedy: &str| {
        if is_wrong {
            faults.push(Fault::new(field, message, remedy));
        }
    };
    refuse(
        !matches!(description.scheduling, SchedulingChoice::Synchronous(_))
            || description.sampled().is_some(),
        "scheduling.kind",
        "secure aggregation needs rounds that draw their cohort at once, and continue without clients that drop out",
        "choose scheduling.kind = \"synchronous\", without privacy.amplification",
    );
    refuse(
        !matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean),
        "aggregator.kind",
        "this rule, like the default bounded_mean, compares single updates, which secure aggregation hides",
        "choose aggregator.kind = \"weighted_mean\" or \"uniform_mean\"",
    );
    refuse(
        description.compression.is_some() || !description.compression_choices.is_empty(),
        "compression",
        "a compressed update cannot be masked",
        "remove compression; a smaller grid.fraction_bits shortens masked updates",
    );
    refuse(
        matches!(description.selection, SelectionChoice::Oort(_)),
        "selection.kind",
        "oort needs each client's loss, which secure aggregation hides",
        "choose selection.kind = \"uniform\"",
    );
    refuse(
        description.selection.component().is_some(),
        "selection.kind",
        "a component could draw cohorts that differ by one client, whose update then is the difference of two sums",
        "choose selection.kind = \"uniform\"",
    );
    refuse(
        description.privacy.local().is_some(),
        "privacy.kind",
        "with local noise, single updates are already protected from the coordinator",
        "choose privacy.kind = \"distributed\", or remove protection",
    );
    let clipping = match &description.privacy {
        PrivacyChoice::Central(central) => Some(central.clipping),
        _ => None,
    };
    refuse(
        matches!(clipping, Some(Clipping::Adaptive { .. })),
        "privacy.clipping",
        "adaptive clipping counts single updates, which secure aggregation hides",
        "choose a fixed clipping norm",
    );
}
