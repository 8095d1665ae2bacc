//! Checks for choices that contradict each other.

mod component;
mod fine_tuning;
mod guided;
mod parts;
mod privacy;
mod robust;
mod secure;

use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_protocol::DriftCorrection;

use super::{Fault, TaskDescription};
use crate::{scheduling::Correction, selection::SelectionChoice};

/// Lists the contradictions between choices, one rule per line.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    cohorts_need_rounds(description, faults);
    coins_are_not_bounded(description, faults);
    robust::validate(description, faults);
    component::validate(description, faults);
    fine_tuning::validate(description, faults);
    parts::validate(description, faults);
    guided::validate(description, faults);
    replicas_are_trained_alone(description, faults);
    mixing_is_averaging(description, faults);
    steps_of_plain_means_are_in_the_clear(description, faults);
    stopping_needs_measuring(description, faults);
    spacing_and_clocks(description, faults);
    contrasts_keep_one_model(description, faults);
    personal_tensors_are_on_clients(description, faults);
    private_examples_are_not_measured(description, faults);
    private_examples_train_to_the_end(description, faults);
    prefetching_is_of_whole_versions(description, faults);
    privacy::validate(description, faults);
    secure::validate(description, faults);
}

/// Prefetching offers full snapshots. Clients that download deltas do not need them.
fn prefetching_is_of_whole_versions(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.prefetch && description.downstream.is_some() {
        faults.push(Fault::new(
            "prefetch",
            "only full snapshots can be prefetched, but [downstream] makes clients download deltas",
            "set prefetch = false, or remove [downstream]",
        ));
    }
}

/// A client that continues from its replica has no common start with the others.
fn replicas_are_trained_alone(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.plan.elastic_averaging.is_none() {
        return;
    }
    if description.finalizer.drift_correction().is_some() {
        faults.push(Fault::new(
            "finalizer.kind",
            "it corrects the drift of clients from the version, but with plan.elastic_averaging they start elsewhere",
            "choose finalizer.kind = \"fed_avg\", or remove plan.elastic_averaging",
        ));
    }
    if description.aggregator == AggregatorChoice::FedNova {
        faults.push(Fault::new(
            "aggregator.kind",
            "fed_nova divides an update by the steps of one training, but a replica has changed over several trainings",
            "choose aggregator.kind = \"uniform_mean\"",
        ));
    }
    if description.scheduling.policy().staleness().correction != Correction::None {
        faults.push(Fault::new(
            "scheduling.staleness.correction",
            "it treats an update as a gradient at its version, but with plan.elastic_averaging it is a distance",
            "set correction = { kind = \"none\" }",
        ));
    }
}

/// A client that keeps its last local model keeps nothing else.
fn contrasts_keep_one_model(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let keeps_variate =
        description.finalizer.drift_correction().is_some_and(DriftCorrection::keeps_control_variate);
    if description.plan.model_contrast.is_some() && keeps_variate {
        faults.push(Fault::new(
            "finalizer.kind",
            "its clients keep control variates, but with plan.model_contrast they keep their last local model",
            "choose finalizer.kind = \"fed_avg\", or remove plan.model_contrast",
        ));
    }
}

/// The coordinator has no clients' personal tensors. It would measure a model with the personal tensors of the model's
/// file.
fn personal_tensors_are_on_clients(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.measures_centrally() && !description.plan.personal.is_empty() {
        faults.push(Fault::new(
            "evaluation.central",
            "the coordinator cannot measure a model with plan.personal: each client has its own tensors",
            "set evaluation.central = false, and add [evaluation.federated]",
        ));
    }
}

/// Clients that protect single examples report no measurements on them.
fn private_examples_are_not_measured(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.plan.example_privacy.is_none() {
        return;
    }
    if description.evaluation.as_ref().is_some_and(|one| one.federated.is_some()) {
        faults.push(Fault::new(
            "evaluation.federated",
            "clients cannot report metrics of the examples that plan.example_privacy protects",
            "set evaluation.central = true and evaluate on your own data",
        ));
    }
    if matches!(description.selection, SelectionChoice::Oort(_)) {
        faults.push(Fault::new(
            "selection.kind",
            "oort needs each client's loss, but plan.example_privacy forbids reporting it",
            "choose selection.kind = \"uniform\"",
        ));
    }
}

/// The privacy accountant charges for all of the plan's steps. If the number of steps depended on the round, it would
/// reveal something about the data.
fn private_examples_train_to_the_end(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.plan.example_privacy.is_some() && description.scheduling.policy().asks() {
        faults.push(Fault::new(
            "scheduling.kind",
            "aggressive_synchronous asks clients to end training early, but plan.example_privacy charges for all training steps",
            "choose scheduling.kind = \"synchronous\"",
        ));
    }
}

/// In a flow, clients start one by one: there is no cohort to draw.
fn cohorts_need_rounds(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let needs_cohort = match description.selection {
        SelectionChoice::Poisson { .. } => "poisson",
        SelectionChoice::FixedSize => "fixed_size",
        _ => return,
    };
    if description.scheduling.policy().flow().is_some() {
        faults.push(Fault::new(
            "selection.kind",
            format!("{needs_cohort} draws a cohort, but with this scheduling.kind clients start one by one"),
            "choose selection.kind = \"uniform\", or scheduling.kind = \"synchronous\"",
        ));
    }
}

/// Poisson sampling draws each client independently. If clients were excluded because of their token, the mechanism
/// would change, and the ledger would charge the wrong privacy cost.
fn coins_are_not_bounded(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.token_share_max.is_some() && matches!(description.selection, SelectionChoice::Poisson(_)) {
        faults.push(Fault::new(
            "token_share_max",
            "selection.kind = \"poisson\" draws each client independently, but token_share_max would exclude some drawn \
             clients, so privacy would be charged for a different draw",
            "remove token_share_max, or choose selection.kind = \"uniform\" and privacy.amplification = \"none\"",
        ));
    }
}

/// Model mixing averages models. Any other server optimizer would treat the distance between versions as a
/// gradient.
fn mixing_is_averaging(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let mixes = description.scheduling.policy().staleness().correction == Correction::ModelMixing;
    if mixes && !matches!(description.finalizer, FinalizerChoice::FedAvg(_)) {
        faults.push(Fault::new(
            "scheduling.staleness.correction",
            "model_mixing averages models, but this finalizer.kind treats the average as a gradient",
            "choose finalizer.kind = \"fed_avg\", or correction = { kind = \"none\" }",
        ));
    }
}

/// FedExP and L-BFGS compute their steps from updates of one round, without noise.
fn steps_of_plain_means_are_in_the_clear(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let Some(reasons) = description.finalizer.plain_mean() else { return };
    let is_mean =
        matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean);
    let is_compressed = description.compression.is_some() || !description.compression_choices.is_empty();
    let plan = &description.plan;
    let takes_steps = plan.epochs > 1 && plan.steps_max != Some(1);
    let is_gradient = plan.optimizer.is_plain_sgd()
        && plan.gradient_clipping.is_none()
        && plan.sharpness_aware.is_none()
        && plan.l1.is_none()
        && plan.value_range.is_none();
    let is_private = !description.privacy.is_none() || description.plan.example_privacy.is_some();
    let message = reasons.masked.filter(|_| description.protection.is_masked());
    let message = message.or(is_private.then_some(reasons.private));
    let message = message.or(description.scheduling.policy().flow().is_some().then_some(reasons.flow));
    let message = message.or((!is_mean).then_some(reasons.rule));
    let message = message.or(reasons.compressed.filter(|_| is_compressed));
    let message = message.or(reasons.step.filter(|_| !is_gradient));
    let Some(message) = message.or(reasons.epochs.filter(|_| takes_steps)) else { return };
    let remedy = "choose finalizer.kind = \"fed_avg\", or remove what contradicts this one; it works with a synchronous task, \
                  aggregator.kind = \"uniform_mean\", sgd, epochs = 1, and neither privacy nor compression";
    faults.push(Fault::new("finalizer.kind", message, remedy));
}

/// A target or plateau needs an evaluation.
fn stopping_needs_measuring(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.stop.needs_evaluation() && description.evaluation.is_none() {
        let field = if description.stop.target.is_some() { "stop.target" } else { "stop.plateau" };
        faults.push(Fault::new(
            field,
            "it needs an evaluation, but the task has no [evaluation]",
            "add [evaluation] with central = true or [evaluation.federated]",
        ));
    }
}

/// A client that may not start again holds back all others at the bound.
fn spacing_and_clocks(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let policy = description.scheduling.policy();
    let is_clocked = policy.flow().is_some_and(|flow| flow.absence_milliseconds.is_some());
    if is_clocked && description.eligibility.participation_limit.is_some() {
        faults.push(Fault::new(
            "eligibility.participation_limit",
            "this scheduling.kind waits for slow clients, so a client that reached this limit would delay all others",
            "remove participation_limit, or choose scheduling.kind = \"buffered\"",
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::task::samples::described;

    fn fields(mut changes: serde_json::Value) -> Vec<String> {
        let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
        let changed = changes.as_object_mut().expect("changes are an object");
        changed.entry("scheduling").or_insert(buffered);
        described(changes).validate().into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn what_goes_together_is_let_through() {
        assert_eq!(fields(json!({})), [""; 0]);
        assert_eq!(fields(json!({ "finalizer": { "kind": "fed_adam" } })), [""; 0]);
    }

    #[test]
    fn whole_versions_are_offered_only_where_whole_versions_are_fetched() {
        let downstream = json!({ "whole": "weights:8" });
        assert_eq!(fields(json!({ "prefetch": true })), [""; 0]);
        assert_eq!(fields(json!({ "downstream": downstream })), [""; 0]);
        assert_eq!(fields(json!({ "prefetch": false, "downstream": downstream })), [""; 0]);
        let changes = json!({ "prefetch": true, "downstream": downstream, "scheduling":
            { "kind": "synchronous", "report_goal": 8 } });
        let [fault] = described(changes).validate().try_into().expect("there is one fault");
        assert_eq!(fault.field, "prefetch");
        assert!(fault.message.contains("makes clients download deltas"), "{fault}");
        assert!(fault.remedy.contains("prefetch = false"), "{fault}");
    }

    #[test]
    fn asked_clients_neither_protect_examples_nor_add_to_central_noise() {
        let scheduling = json!({ "kind": "aggressive_synchronous", "cohort": 10 });
        assert_eq!(fields(json!({ "scheduling": scheduling })), [""; 0]);
        let plan = json!({
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "gradient_clipping": { "per_example_norm": 1.5 },
            "example_privacy": { "noise_multiplier": 0.5 },
            "epochs": 1,
            "batch_size": 8,
        });
        let faults = described(json!({ "scheduling": scheduling, "plan": plan })).validate();
        let asked = faults.iter().find(|fault| fault.message.contains("asks clients to end training early"));
        assert_eq!(asked.map(|fault| fault.field.as_str()), Some("scheduling.kind"), "{faults:?}");
        let privacy = json!({
            "kind": "central", "epsilon": 8.0, "delta": 1e-6, "clipping": { "kind": "fixed", "norm": 1.0 },
        });
        let found = fields(
            json!({ "scheduling": scheduling, "privacy": privacy, "aggregator": { "kind": "uniform_mean" } }),
        );
        assert!(found.contains(&"scheduling.kind".to_owned()), "{found:?}");
    }

    #[test]
    fn fed_exp_needs_a_synchronous_mean_in_the_clear() {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 100 });
        let with = |aggregator: &str, key: &str, value: serde_json::Value| {
            let mut changes = json!({ "scheduling": scheduling, "aggregator": { "kind": aggregator }, "finalizer": { "kind": "fed_exp" } });
            changes[key] = value;
            fields(changes)
        };
        let nothing = || ("prefetch", json!(false));
        for aggregator in ["weighted_mean", "uniform_mean"] {
            assert_eq!(with(aggregator, nothing().0, nothing().1), [""; 0], "{aggregator}");
        }
        for aggregator in ["bounded_mean", "median"] {
            assert_eq!(with(aggregator, nothing().0, nothing().1), ["finalizer.kind"], "{aggregator}");
        }
        let privacy = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
        let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
        let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
        for (key, value) in [("privacy", privacy), ("protection", masks), ("scheduling", buffered)] {
            assert_eq!(with("uniform_mean", key, value), ["finalizer.kind"], "{key}");
        }
    }

    #[test]
    fn replicas_are_not_corrected() {
        let plan = json!({
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 8, "elastic_averaging": { "alpha": 0.5 },
        });
        let with = |key: &str, value: serde_json::Value| {
            let mut changes =
                json!({ "plan": plan, "scheduling": { "kind": "synchronous", "report_goal": 8 } });
            changes[key] = value;
            fields(changes)
        };
        assert_eq!(with("aggregator", json!({ "kind": "median" })), [""; 0]);
        assert_eq!(with("finalizer", json!({ "kind": "fed_adam" })), [""; 0]);
        assert_eq!(with("finalizer", json!({ "kind": "fed_dyn", "clients": 10 })), ["finalizer.kind"; 2]);
        let staleness = json!({ "correction": { "kind": "delay_compensation", "lambda": 0.1 } });
        let buffered =
            json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20, "staleness": staleness });
        assert_eq!(with("scheduling", buffered), ["scheduling.staleness.correction"]);
    }

    #[test]
    fn a_client_keeps_a_last_local_model_or_a_control_variate() {
        let with = |finalizer: serde_json::Value| {
            fields(json!({
                "plan": {
                    "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                    "epochs": 2, "steps_max": 2, "batch_size": 8, "model_contrast": { "features": "hidden" },
                },
                "scheduling": { "kind": "synchronous", "report_goal": 8 },
                "aggregator": { "kind": "uniform_mean" },
                "finalizer": finalizer,
            }))
        };
        for kind in ["fed_adam", "fed_cm"] {
            assert_eq!(with(json!({ "kind": kind })), [""; 0], "{kind}");
        }
        for kind in ["scaffold", "fed_dyn", "fed_dc"] {
            assert_eq!(with(json!({ "kind": kind, "clients": 10 })), ["finalizer.kind"], "{kind}");
        }
    }

    #[test]
    fn every_contradiction_is_named_at_once() {
        let found = fields(json!({
            "selection": { "kind": "poisson", "sampling_rate": 0.1 },
            "scheduling": {
                "kind": "asynchronous",
                "concurrency": 20,
                "staleness": { "correction": { "kind": "model_mixing" } },
            },
            "aggregator": { "kind": "median" },
            "finalizer": { "kind": "fed_yogi" },
            "stop": { "target": 0.9 },
        }));
        assert_eq!(
            found,
            [
                "selection.kind",
                "aggregator.kind",
                "scheduling.staleness.weight",
                "scheduling.staleness.correction",
                "stop.target",
            ]
        );
        let found = fields(json!({
            "scheduling": { "kind": "stale_synchronous", "bound": 3, "concurrency": 5 },
            "eligibility": { "participation_limit": { "count": 1, "rounds": 10 } },
        }));
        assert_eq!(found, ["eligibility.participation_limit"]);
    }
}
