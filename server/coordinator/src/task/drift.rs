//! Corrections of local gradients against the drift of clients whose data differ.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_protocol::{DriftCorrection, LearningRateSchedule, LocalOptimizer, Precision, TrainingPlan};

use super::{Fault, TaskDescription};

impl TaskDescription {
    /// Returns the local training of clients: the plan, with the proximal term or the learning rate that the finalizer needs.
    pub fn client_training(&self) -> TrainingPlan {
        let plan = self.plan.clone();
        match self.finalizer.drift_correction() {
            Some(DriftCorrection::FedDyn { alpha }) => TrainingPlan { proximal_term: alpha, ..plan },
            Some(DriftCorrection::FedCm { alpha }) => {
                let LocalOptimizer::Sgd { learning_rate, momentum, nesterov, weight_decay } = plan.optimizer
                else {
                    return plan;
                };
                let learning_rate = alpha * learning_rate;
                let optimizer = LocalOptimizer::Sgd { learning_rate, momentum, nesterov, weight_decay };
                TrainingPlan { optimizer, ..plan }
            }
            Some(DriftCorrection::Scaffold) | None => plan,
        }
    }

    /// Returns the mean over clients of the local learning rate, summed over the steps of a client's training. `reports` has the
    /// weight and the number of local steps of each update, unless all clients must make the same number. Returns 0 unless
    /// the finalizer is `scaffold` or `fed_cm`.
    pub fn local_rate_sum(&self, reports: impl Iterator<Item = (u64, u64)>) -> f64 {
        let drift = self.finalizer.drift_correction();
        let LocalOptimizer::Sgd { learning_rate, .. } = self.plan.optimizer else { return 0.0 };
        let Some(drift) = drift.filter(|drift| drift.downloads_control_variate()) else { return 0.0 };
        let steps = match self.plan.steps_max.filter(|_| reports_do_not_count(self, drift)) {
            Some(steps) => steps.into(),
            None => self.mean_steps(reports),
        };
        steps.max(1.0) * f64::from(learning_rate)
    }

    /// Returns the mean number of steps, in which an update counts as much as in the aggregate.
    fn mean_steps(&self, reports: impl Iterator<Item = (u64, u64)>) -> f64 {
        let is_weighted = self.aggregator == AggregatorChoice::WeightedMean;
        let counted =
            reports.map(|(weight, steps)| (if is_weighted { weight } else { 1 } as f64, steps as f64));
        let (total, sum) =
            counted.fold((0.0, 0.0), |(total, sum), (weight, steps)| (total + weight, sum + weight * steps));
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// Records faults if the correction of the clients could not be the one of the algorithm.
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
        plan.proximal_term != 0.0,
        "plan.proximal_term",
        match drift {
            DriftCorrection::FedDyn { .. } => "sets the proximal term to finalizer.alpha itself",
            DriftCorrection::Scaffold | DriftCorrection::FedCm { .. } => {
                "estimates the gradient of the loss, to which a proximal term would be added"
            }
        },
        "set proximal_term = 0.0",
    );
    match drift {
        DriftCorrection::Scaffold | DriftCorrection::FedDyn { .. } => {
            validate_kept(description, &mut refuse);
        }
        DriftCorrection::FedCm { .. } => {
            refuse(
                matches!(description.aggregator, AggregatorChoice::FedNova),
                "aggregator.kind",
                "divides the aggregate by the number of local steps, which this rule has done already",
                "choose another aggregator.kind, such as \"weighted_mean\"",
            );
            let field = if plan.personal.is_empty() { "plan.personal_training" } else { "plan.personal" };
            refuse(
                !plan.personal.is_empty() || plan.personal_training.is_some(),
                field,
                "lowers the local learning rate, also for what only the client keeps, which no direction of others completes",
                "remove it, or choose finalizer.kind = \"fed_avg\"",
            );
        }
    }
    if drift.downloads_control_variate() {
        validate_steps(plan, &mut refuse);
        if reports_do_not_count(description, drift) {
            validate_equal_steps(plan, policy.asks(), &mut refuse);
        }
    }
}

/// Returns whether the number of local steps must be that of the plan, because those that clients report are unknown, not
/// protected by the noise, or not combined as the updates are.
fn reports_do_not_count(description: &TaskDescription, drift: DriftCorrection) -> bool {
    let is_private = !description.privacy.is_none() || description.plan.example_privacy.is_some();
    let is_plain_mean =
        matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean);
    let is_fed_cm = matches!(drift, DriftCorrection::FedCm { .. });
    description.protection.is_masked() || is_fed_cm && (is_private || !is_plain_mean)
}

/// Checks that the sum that the coordinator keeps is that of the control variates that clients keep.
fn validate_kept(description: &TaskDescription, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        !description.privacy.is_none() || description.plan.example_privacy.is_some(),
        "finalizer.kind",
        "keeps a control variate of all clients, in which clipping and noise would add up from round to round",
        "choose finalizer.kind = \"fed_avg\" or \"fed_cm\", or remove [privacy] and plan.example_privacy",
    );
    refuse(
        description.compression.is_some() || !description.compression_choices.is_empty(),
        "compression",
        "compares what clients keep with what they send, but a codec sends something else",
        "remove [compression] and [[compression_choices]]; [downstream] is allowed",
    );
    refuse(
        !matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean),
        "finalizer.kind",
        "sums up the clients' changes, but this aggregator.kind shortens, scales or drops some",
        "choose aggregator.kind = \"weighted_mean\" or \"uniform_mean\"",
    );
    refuse(
        description.evaluation.as_ref().is_some_and(|one| one.rollback_margin.is_some()),
        "evaluation.rollback_margin",
        "cannot go back to an earlier version, because clients have already changed their control variates",
        "remove rollback_margin",
    );
}

/// Checks that a client's update tells its mean gradient.
fn validate_steps(plan: &TrainingPlan, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
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
        plan.precision == Precision::Mixed,
        "plan.precision",
        "divides updates by the number of local steps, but mixed precision skips some",
        "set precision = \"single\"",
    );
}

/// Checks that the coordinator knows the number of local steps without reports.
fn validate_equal_steps(plan: &TrainingPlan, asks: bool, refuse: &mut dyn FnMut(bool, &str, &str, &str)) {
    refuse(
        plan.steps_max.is_none_or(|steps| steps > plan.epochs),
        "plan.steps_max",
        "divides updates by the number of local steps, which must be the same on each client with masks, and for fed_cm also with \
         privacy and with other rules than a plain mean",
        "set plan.steps_max to the number of steps, and plan.epochs at least as high, so that a client with a single batch \
         makes as many; for fed_cm without masks and privacy, aggregator.kind = \"weighted_mean\" is enough",
    );
    refuse(
        plan.time_limit_seconds.is_some() || asks,
        if asks { "scheduling.kind" } else { "plan.time_limit_seconds" },
        "needs the same number of local steps on each client, so no training may end early",
        if asks { "choose scheduling.kind = \"synchronous\"" } else { "remove time_limit_seconds" },
    );
}

fn name(drift: DriftCorrection) -> &'static str {
    match drift {
        DriftCorrection::Scaffold => "scaffold",
        DriftCorrection::FedDyn { .. } => "fed_dyn",
        DriftCorrection::FedCm { .. } => "fed_cm",
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::LocalOptimizer;
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
        changes["aggregator"] = json!({ "kind": "weighted_mean" });
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
        let privacy = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        let local = json!({ "privacy": privacy, "aggregator": { "kind": "uniform_mean" } });
        let codec = json!({ "compression": { "codec": "eden:2" } });
        let rules = ["bounded_mean", "fed_nova", "q_fed_avg", "term", "median"];
        let rules = rules.map(|kind| json!({ "aggregator": { "kind": kind } }));
        let rollback = json!({ "evaluation": { "central": true, "rollback_margin": 0.1 } });
        for kind in ["scaffold", "fed_dyn"] {
            for (others, field) in [
                (&buffered, "finalizer.kind"),
                (&local, "finalizer.kind"),
                (&codec, "compression"),
                (&rollback, "evaluation.rollback_margin"),
            ] {
                assert_eq!(fields(kind, json!({}), others.clone()), [field], "{kind}: {others}");
            }
            for rule in &rules {
                assert_eq!(fields(kind, json!({}), rule.clone()), ["finalizer.kind"], "{kind}: {rule}");
            }
            assert_eq!(fields(kind, json!({ "proximal_term": 0.1 }), json!({})), ["plan.proximal_term"]);
        }
    }

    #[test]
    fn a_direction_of_all_clients_goes_with_what_control_variates_do_not() {
        let fields = |plan: Value, others: Value| {
            let mut changes = json!({ "finalizer": { "kind": "fed_cm" } });
            for (key, value) in others.as_object().expect("an object") {
                changes[key] = value.clone();
            }
            task("fed_cm", plan, changes).validate().into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        let privacy = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        for others in [
            json!({ "privacy": privacy, "aggregator": { "kind": "uniform_mean" } }),
            json!({ "compression": { "codec": "eden:2" } }),
            json!({ "aggregator": { "kind": "bounded_mean" } }),
            json!({ "aggregator": { "kind": "median" } }),
            json!({ "evaluation": { "central": true, "rollback_margin": 0.1 } }),
        ] {
            assert_eq!(fields(json!({}), others.clone()), [""; 0], "{others}");
        }
        let buffered = json!({ "scheduling": { "kind": "buffered", "buffer_goal": 5, "concurrency": 20 } });
        assert_eq!(fields(json!({}), buffered), ["finalizer.kind"]);
        assert_eq!(fields(json!({}), json!({ "aggregator": { "kind": "fed_nova" } })), ["aggregator.kind"]);
        assert_eq!(fields(json!({ "personal": ["head.*"] }), json!({})), ["plan.personal"]);
        let ditto = json!({ "personal_training": { "ditto": { "lambda": 0.1, "epochs": 1 } } });
        assert_eq!(fields(ditto, json!({})), ["plan.personal_training"]);
        // Only a plain mean without privacy knows how many steps its clients have made.
        let any_steps = || json!({ "steps_max": null });
        assert_eq!(fields(any_steps(), json!({})), [""; 0]);
        for others in [
            json!({ "aggregator": { "kind": "bounded_mean" } }),
            json!({ "privacy": privacy, "aggregator": { "kind": "uniform_mean" } }),
        ] {
            assert_eq!(fields(any_steps(), others.clone()), ["plan.steps_max"], "{others}");
            let withheld = task("fed_cm", json!({}), {
                let mut changes = json!({ "finalizer": { "kind": "fed_cm" } });
                others
                    .as_object()
                    .expect("an object")
                    .iter()
                    .for_each(|(key, value)| changes[key] = value.clone());
                changes
            });
            assert_eq!(withheld.local_rate_sum([(1, 0), (1, u64::MAX)].into_iter()), 2.5);
        }
        let adam = json!({ "optimizer": { "adam": { "learning_rate": 0.001 } } });
        assert_eq!(fields(adam, json!({})), ["plan.optimizer"]);
        assert_eq!(fields(json!({ "proximal_term": 0.1 }), json!({})), ["plan.proximal_term"]);
    }

    #[test]
    fn scaffold_needs_updates_that_tell_the_gradient() {
        let adam = json!({ "adam": { "learning_rate": 0.001 } });
        let momentum = json!({ "sgd": { "learning_rate": 0.1, "momentum": 0.9 } });
        for (plan, field) in [
            (json!({ "optimizer": adam }), "plan.optimizer"),
            (json!({ "optimizer": momentum }), "plan.optimizer"),
            (json!({ "warmup_steps": 3 }), "plan.learning_rate_schedule"),
            (json!({ "precision": "mixed" }), "plan.precision"),
        ] {
            assert_eq!(fields("scaffold", plan.clone(), json!({})), [field], "{plan}");
        }
        assert_eq!(fields("scaffold", json!({ "steps_max": null, "epochs": 2 }), json!({})), [""; 0]);
    }

    #[test]
    fn masked_clients_make_as_many_steps_as_the_coordinator_thinks() {
        let masked = || {
            let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
            json!({ "aggregator": { "kind": "uniform_mean" }, "protection": masks })
        };
        for (plan, field) in [
            (json!({ "steps_max": null }), "plan.steps_max"),
            (json!({ "epochs": 19 }), "plan.steps_max"),
            (json!({ "time_limit_seconds": 60.0 }), "plan.time_limit_seconds"),
        ] {
            assert_eq!(fields("scaffold", plan.clone(), masked()), [field], "{plan}");
            assert_eq!(fields("scaffold", plan, json!({})), [""; 0]);
        }
        assert_eq!(task("scaffold", json!({}), masked()).local_rate_sum([(1, 3)].into_iter()), 2.5);
    }

    #[test]
    fn the_mean_of_the_steps_is_that_of_the_aggregate() {
        let sum = |kind: &str| {
            let aggregator = json!({ "aggregator": { "kind": kind } });
            task("scaffold", json!({}), aggregator).local_rate_sum([(1, 2), (3, 6)].into_iter())
        };
        // The rate is 1/8. The means are 4 and (1·2 + 3·6) / 4.
        assert_eq!(["uniform_mean", "weighted_mean"].map(sum), [0.5, 0.625]);
    }

    #[test]
    fn clients_train_with_the_finalizers_regularizer() {
        let scaffold = task("scaffold", json!({}), json!({}));
        assert_eq!(scaffold.client_training(), scaffold.plan);
        let others = json!({ "finalizer": { "kind": "fed_dyn", "clients": 50, "alpha": 0.25 } });
        let fed_dyn = task("fed_dyn", json!({}), others);
        let rate_sum = fed_dyn.local_rate_sum([(1, 2)].into_iter());
        assert_eq!((rate_sum, fed_dyn.client_training().proximal_term), (0.0, 0.25));
        let fed_cm = task("fed_cm", json!({}), json!({ "finalizer": { "kind": "fed_cm", "alpha": 0.5 } }));
        let rate_sum = fed_cm.local_rate_sum([(1, 2)].into_iter());
        assert_eq!((rate_sum, fed_cm.client_training().optimizer), (0.25, LocalOptimizer::sgd(0.0625)));
    }
}
