//! Checks for choices that contradict rules which use the coordinator's own examples.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_protocol::{DriftCorrection, RunningStatistics};

use super::super::{Fault, TaskDescription};

/// Lists the contradictions between such rules and other choices. With privacy from the coordinator, masks and clusters, all rules but means
/// are refused elsewhere.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if let AggregatorChoice::Afl(_) = description.aggregator {
        return clients_are_known(description, faults);
    }
    if description.aggregator.own_examples().is_none() {
        return;
    }
    let plan = &description.plan;
    let mut refuse = |is_wrong: bool, field: &str, message: &str, remedy: &str| {
        if is_wrong {
            faults.push(Fault::new(field, format!("this aggregator.kind {message}"), remedy));
        }
    };
    refuse(
        description.privacy.local().is_some() || plan.example_privacy.is_some(),
        "aggregator.kind",
        "judges single updates by their effect on the model, which the noise of each client hides",
        "choose aggregator.kind = \"uniform_mean\", or remove [privacy] and plan.example_privacy",
    );
    refuse(
        description.scheduling.policy().flow().is_some(),
        "scheduling.kind",
        "compares updates of one version, but with this scheduling.kind they start from several",
        "choose scheduling.kind = \"synchronous\"",
    );
    let keeps = plan.statistics == RunningStatistics::KeepLocal;
    refuse(
        !plan.personal.is_empty() || keeps,
        if keeps { "plan.statistics" } else { "plan.personal" },
        "computes with the model on the coordinator, which does not have the tensors that only clients keep",
        "remove it, or choose another aggregator.kind",
    );
    refuse(
        plan.elastic_averaging.is_some(),
        "plan.elastic_averaging",
        "treats an update as the change of one training, but a replica has changed over several trainings",
        "remove it, or choose another aggregator.kind",
    );
    refuse(
        matches!(description.finalizer.drift_correction(), Some(DriftCorrection::FedCm { .. })),
        "finalizer.kind",
        "computes on the coordinator without the direction that fed_cm adds on clients",
        "choose finalizer.kind = \"fed_avg\"",
    );
    refuse(
        matches!(description.aggregator, AggregatorChoice::FedDf(_)) && !plan.loss.contains_softmax(),
        "plan.loss",
        "learns from predicted class probabilities, which models with this loss do not have",
        "choose a loss over a softmax, such as softmax_cross_entropy",
    );
    refuse(
        !description.compression_choices.is_empty(),
        "compression_choices",
        "compares the effects of updates on the model. They differ from codec to codec, so it would prefer clients for their codec",
        "remove [[compression_choices]]; [compression] is allowed",
    );
}

/// AFL keeps a number for each client with the version.
fn clients_are_known(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.scheduling.policy().flow().is_some() {
        faults.push(Fault::new(
            "scheduling.kind",
            "afl weights the clients of one round, but with this scheduling.kind a version has updates of several",
            "choose scheduling.kind = \"synchronous\", or aggregator.kind = \"term\"",
        ));
    }
    if matches!(description.finalizer.drift_correction(), Some(DriftCorrection::FedCm { .. })) {
        faults.push(Fault::new(
            "finalizer.kind",
            "fed_cm sends the finalizer's state to clients, and afl stores the weights of all clients beside it",
            "choose finalizer.kind = \"fed_avg\"",
        ));
    }
}
