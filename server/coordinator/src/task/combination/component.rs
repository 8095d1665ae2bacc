//! Checks for choices that contradict components.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_protocol::DriftCorrection;

use super::super::{Fault, TaskDescription};

/// Lists the contradictions between components and other choices. With privacy from the coordinator and with masks, all rules but
/// means are refused elsewhere.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    // A component that sees a noised aggregate could keep it, or write it to the log, also if its version is never released and
    // so never charged.
    if description.finalizer.finalizer().is_err() && !description.privacy.is_none() {
        faults.push(Fault::new(
            "finalizer.kind",
            "a component could reveal versions that privacy.kind does not account for, in its state or in the log",
            "choose a built-in finalizer.kind, such as \"fed_adam\"",
        ));
    }
    if description.selection.component().is_some() && description.plan.example_privacy.is_some() {
        faults.push(Fault::new(
            "selection.kind",
            "a component gets the clients' example counts and training times, which their noise does not cover",
            "choose selection.kind = \"uniform\"",
        ));
    }
    if !matches!(description.aggregator, AggregatorChoice::Component(_)) {
        return;
    }
    let is_private = description.privacy.local().is_some() || description.plan.example_privacy.is_some();
    if is_private {
        faults.push(Fault::new(
            "aggregator.kind",
            "a component gets the clients' example counts and losses, which their noise does not cover",
            "choose a built-in aggregator.kind; a component as finalizer.kind is allowed",
        ));
    }
    if matches!(description.finalizer.drift_correction(), Some(DriftCorrection::FedCm { .. })) {
        faults.push(Fault::new(
            "finalizer.kind",
            "fed_cm sends the finalizer's state to clients, and a component stores its own state beside it",
            "choose finalizer.kind = \"fed_avg\", or a built-in aggregator.kind",
        ));
    }
}
