//! Corrections of local gradients against the drift of clients whose data differ.

use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_protocol::{DriftCorrection, LearningRateSchedule, LocalOptimizer, Precision, TrainingPlan};

use super::{Fault, TaskDescription};

impl TaskDescription {
    /// Returns the local training of clients: the plan, with the proximal term that the finalizer needs.
    pub fn local_training(&self) -> TrainingPlan {
        match self.finalizer.drift_correction() {
            Some(DriftCorrection::FedDyn { alpha }) => {
                TrainingPlan { proximal_term: alpha, ..self.plan.clone() }
            }
            _ => self.plan.clone(),
        }
    }

    /// Returns the sum of the local learning rate over the steps of a client's training, which are as many for all clients. It
    /// is 0 unless the finalizer is `scaffold`.
    pub fn local_rate_sum(&self) -> f64 {
        match (&self.finalizer, self.plan.optimizer, self.plan.steps_max) {
            (FinalizerChoice::Scaffold(_), LocalOptimizer::Sgd { learning_rate, .. }, Some(steps)) => {
                f64::from(steps) * f64::from(learning_rate)
            }
            _ => 0.0,
        }
    }
}

/// Records faults if the sum that the coordinator keeps could differ from the control variates of the clients.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let Some(drift) = description.finalizer.drift_correction() else { return };
    let (kind, plan) = (name(drift), &description.plan);
    let mut refuse = |is_wrong: bool, field: &str, message: &str, remedy: &str| {
        if is_wrong {
            faults.push(Fault::new(field, format!("{kind} {message}"), remedy));
        }
    };
    let policy = description.scheduling.policy();
    refuse(
        policy.flow().is_some(),
        "finalizer.kind",
        "needs rounds, but with this scheduling.kind updates start from several versions, and so from several control variates",
        "choose scheduling.kind = \"synchronous\", or finalizer.kind = \"fed_avg\"",
    );
    refuse(
        !description.privacy.is_none() || plan.example_privacy.is_some(),
        "finalizer.kind",
        "keeps a control variate of all clients, in which clipping and noise would add up from round to round",
        "choose finalizer.kind = \"fed_avg\", or remove [privacy] and plan.example_privacy",
    );
    refuse(
        description.compression.is_some() || !description.compression_choices.is_empty(),
        "compression",
        "compares what clients keep with what they send, but a codec sends something else",
        "remove [compression] and [[compression_choices]]; [downstream] is allowed",
    );
    refuse(
        matches!(description.aggregator, AggregatorChoice::FedNova),
        "aggregator.kind",
        "needs a mean of the clients' changes, but fed_nova divides them by their steps",
        "choose aggregator.kind = \"uniform_mean\"",
    );
    refuse(
        description.evaluation.as_ref().is_some_and(|one| one.rollback_margin.is_some()),
        "evaluation.rollback_margin",
        "cannot go back to an earlier version, because clients have already changed their control variates",
        "remove rollback_margin",
    );
    refuse(
        plan.proximal_term != 0.0,
        "plan.proximal_term",
        match drift {
            DriftCorrection::Scaffold => "estimates the gradient of the loss, to which a proximal term would be added",
            DriftCorrection::FedDyn { .. } => "sets the proximal term to finalizer.alpha itself",
        },
        "set proximal_term = 0.0",
    );
    if drift == DriftCorrection::Scaffold {
        validate_steps(plan, policy.asks(), &mut refuse);
    }
}

/// Checks that the coordinator knows the local learning rates of all steps of every client.
fn validate_steps(plan: &TrainingPlan, asks: bool, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        !matches!(plan.optimizer, LocalOptimizer::Sgd { momentum: 0.0, nesterov: false, .. }),
        "plan.optimizer",
        "takes the mean gradient of a client from its update, which only plain SGD allows",
        "choose sgd without momentum",
    );
    let is_constant = plan.learning_rate_schedule == LearningRateSchedule::Constant;
    refuse(
        !is_constant || plan.warmup_steps > 0 || !plan.learning_rate_factors.is_empty(),
        "plan.learning_rate_schedule",
        "divides updates by the local learning rate, which must be the same in each step",
        "remove the local schedule and set finalizer.schedule instead",
    );
    refuse(
        plan.steps_max.is_none_or(|steps| steps > plan.epochs),
        "plan.steps_max",
        "divides updates by the number of local steps, which must be the same on each client",
        "set plan.steps_max to the number of steps, and plan.epochs at least as high, so that a client with a single batch \
         makes as many",
    );
    refuse(
        plan.time_limit_seconds.is_some() || asks,
        if asks { "scheduling.kind" } else { "plan.time_limit_seconds" },
        "needs the same number of local steps on each client, so no training may end early",
        if asks { "choose scheduling.kind = \"synchronous\"" } else { "remove time_limit_seconds" },
    );
    refuse(
        plan.precision == Precision::Mixed,
        "plan.precision",
        "needs the same number of local steps on each client, but mixed precision skips some",
        "set precision = \"single\"",
    );
}

fn name(drift: DriftCorrection) -> &'static str {
    match drift {
        DriftCorrection::Scaffold => "scaffold",
        DriftCorrection::FedDyn { .. } => "fed_dyn",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::{TaskDescription, samples::described};

    fn task(kind: &str, plan: Value, others: Value) -> TaskDescription {
        let mut whole = json!({
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.125 } },
            "epochs": 20,
            "steps_max": 20,
            "batch_size": 16,
        });
        let merge = |into: &mut Value, from: Value| {
            for (key, value) in from.as_object().expect("an object") {
                into[key] = value.clone();
            }
        };
        merge(&mut whole, plan);
        let mut changes = json!({ "plan": whole, "finalizer": { "kind": kind, "clients": 50 } });
        merge(&mut changes, others);
        described(changes)
    }

    fn fields(kind: &str, plan: Value, others: Value) -> Vec<String> {
        task(kind, plan, others).validate().into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn a_task_that_keeps_to_the_rules_is_let_through() {
        for kind in ["scaffold", "fed_dyn"] {
            assert_eq!(fields(kind, json!({}), json!({})), [""; 0]);
            assert_eq!(fields(kind, json!({ "personal": ["head.*"] }), json!({})), [""; 0]);
            let masks = json!({ "aggregator": { "kind": "uniform_mean" }, "protection": { "secure_aggregation": { "corrupt_share": 0.1 } } });
            assert_eq!(fields(kind, json!({}), masks), [""; 0]);
        }
        let adam = json!({ "adam": { "learning_rate": 0.001 } });
        assert_eq!(fields("fed_dyn", json!({ "optimizer": adam, "steps_max": null }), json!({})), [""; 0]);
    }

    #[test]
    fn sums_that_would_not_be_those_of_the_clients_are_refused() {
        let buffered = json!({ "scheduling": { "kind": "buffered", "buffer_goal": 5, "concurrency": 20 } });
        let local = json!({ "privacy": { "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 } });
        let codec = json!({ "compression": { "codec": "eden:2" } });
        let nova = json!({ "aggregator": { "kind": "fed_nova" } });
        let rollback = json!({ "evaluation": { "central": true, "rollback_margin": 0.1 } });
        for kind in ["scaffold", "fed_dyn"] {
            for (others, field) in [
                (&buffered, "finalizer.kind"),
                (&local, "finalizer.kind"),
                (&codec, "compression"),
                (&nova, "aggregator.kind"),
                (&rollback, "evaluation.rollback_margin"),
            ] {
                assert_eq!(fields(kind, json!({}), others.clone()), [field], "{kind}");
            }
            assert_eq!(fields(kind, json!({ "proximal_term": 0.1 }), json!({})), ["plan.proximal_term"]);
        }
    }

    #[test]
    fn scaffold_needs_known_steps() {
        let adam = json!({ "adam": { "learning_rate": 0.001 } });
        let momentum = json!({ "sgd": { "learning_rate": 0.1, "momentum": 0.9 } });
        for (plan, field) in [
            (json!({ "optimizer": adam }), "plan.optimizer"),
            (json!({ "optimizer": momentum }), "plan.optimizer"),
            (json!({ "warmup_steps": 3 }), "plan.learning_rate_schedule"),
            (json!({ "steps_max": null }), "plan.steps_max"),
            (json!({ "epochs": 19 }), "plan.steps_max"),
            (json!({ "time_limit_seconds": 60.0 }), "plan.time_limit_seconds"),
            (json!({ "precision": "mixed" }), "plan.precision"),
        ] {
            assert_eq!(fields("scaffold", plan.clone(), json!({})), [field], "{plan}");
        }
        let asks = json!({ "scheduling": { "kind": "aggressive_synchronous", "cohort": 10 } });
        assert_eq!(fields("scaffold", json!({}), asks), ["scheduling.kind"]);
    }

    #[test]
    fn clients_train_with_the_finalizers_regularizer() {
        let scaffold = task("scaffold", json!({}), json!({}));
        assert_eq!((scaffold.local_rate_sum(), scaffold.local_training()), (2.5, scaffold.plan.clone()));
        let others = json!({ "finalizer": { "kind": "fed_dyn", "clients": 50, "alpha": 0.25 } });
        let fed_dyn = task("fed_dyn", json!({}), others);
        assert_eq!((fed_dyn.local_rate_sum(), fed_dyn.local_training().proximal_term), (0.0, 0.25));
    }
}
