//! The local work and the losses of clients, for rules that use them.

use folkmoot_aggregation::{AggregatorChoice, LocalTraining, step_factors, step_norm};
use folkmoot_protocol::{LearningRateSchedule, LocalOptimizer, update::UpdateMetrics};

use super::{Fault, TaskDescription};

impl TaskDescription {
    /// Returns the factors of updates for their clients' local work. `reports` has the weight and the number of local steps of
    /// each update. All factors are 1 unless the aggregator is `fed_nova`.
    pub fn work_factors(&self, reports: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
        let (weights, steps): (Vec<u64>, Vec<u64>) = reports.unzip();
        match (&self.aggregator, self.plan.optimizer) {
            (AggregatorChoice::FedNova, LocalOptimizer::Sgd { momentum, .. }) => {
                let norms: Vec<f64> = steps.iter().map(|steps| step_norm(*steps, momentum.into())).collect();
                step_factors(&weights, &norms)
            }
            _ => vec![1.0; weights.len()],
        }
    }

    /// Returns the facts about the local training that `q_fed_avg` and `term` use. `metrics` has the metrics of each
    /// update.
    pub fn local_training<'a>(&self, metrics: impl Iterator<Item = &'a UpdateMetrics>) -> LocalTraining {
        let learning_rate = match self.plan.optimizer {
            LocalOptimizer::Sgd { learning_rate, momentum: 0.0, .. } => Some(learning_rate.into()),
            _ => None,
        };
        // Only private tasks, which cannot use these rules, accept updates without a loss.
        let losses = metrics.map(|metrics| metrics.mean_loss().unwrap_or(0.0)).collect();
        LocalTraining { losses, learning_rate }
    }

    /// Records a fault if `q_fed_avg`, `term` and `afl` cannot know the clients' losses, or the length of a local step.
    pub(super) fn validate_losses(&self, faults: &mut Vec<Fault>) {
        let lipschitz = match self.aggregator {
            AggregatorChoice::QFedAvg(rule) => {
                rule.lipschitz_with(self.local_training([].into_iter()).learning_rate)
            }
            AggregatorChoice::Term(_) | AggregatorChoice::Afl(_) => Some(1.0),
            _ => return,
        };
        if lipschitz.is_none() {
            faults.push(Fault::new(
                "aggregator.lipschitz",
                "its default is 1 / the learning rate of plain SGD, but this plan.optimizer has momentum or is another one",
                "set it, for example to 1 / plan.optimizer's learning rate, or choose sgd without momentum",
            ));
        }
        if self.plan.example_privacy.is_some() || self.privacy.local().is_some() {
            faults.push(Fault::new(
                "aggregator.kind",
                "this rule needs each client's loss, which private tasks do not report",
                "choose aggregator.kind = \"uniform_mean\"",
            ));
        }
    }

    /// Records a fault if `fed_nova` cannot tell a client's local work from its number of steps.
    pub(super) fn validate_local_work(&self, faults: &mut Vec<Fault>) {
        if self.aggregator != AggregatorChoice::FedNova {
            return;
        }
        let plan = &self.plan;
        let mut refuse = |is_wrong: bool, field: &str, message: &str, remedy: &str| {
            if is_wrong {
                faults.push(Fault::new(field, message, remedy));
            }
        };
        let is_plain =
            matches!(plan.optimizer, LocalOptimizer::Sgd { nesterov: false, weight_decay: 0.0, .. });
        refuse(
            !is_plain,
            "plan.optimizer",
            "fed_nova divides an update by its number of steps, which measures the local work of plain SGD only",
            "choose sgd without nesterov and weight_decay, or aggregator.kind = \"weighted_mean\"",
        );
        refuse(
            plan.proximal_term != 0.0,
            "plan.proximal_term",
            "fed_nova gives all local steps the same weight, but with a proximal term early steps count less",
            "set proximal_term = 0.0, or choose aggregator.kind = \"weighted_mean\"",
        );
        let is_constant = plan.learning_rate_schedule == LearningRateSchedule::Constant;
        refuse(
            !is_constant || plan.warmup_steps > 0 || !plan.learning_rate_factors.is_empty(),
            "plan.learning_rate_schedule",
            "fed_nova gives all local steps the same weight, but the local learning rate changes from step to step",
            "remove the local schedule and set finalizer.schedule instead",
        );
        refuse(
            plan.example_privacy.is_some() || !self.privacy.is_none(),
            "aggregator.kind",
            "fed_nova needs each client's number of local steps, which private tasks do not report",
            "choose aggregator.kind = \"uniform_mean\"",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::samples::described;

    fn fields(plan: Value, privacy: Value) -> Vec<String> {
        let mut whole = json!({
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1, "momentum": 0.9 } },
            "epochs": 1,
            "batch_size": 16,
        });
        for (key, value) in plan.as_object().expect("a plan is an object") {
            whole[key] = value.clone();
        }
        let changes = json!({ "plan": whole, "aggregator": { "kind": "fed_nova" }, "privacy": privacy });
        described(changes).validate().into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn steps_that_do_not_tell_the_work_are_refused() {
        let open = || json!({ "kind": "none" });
        assert_eq!(fields(json!({}), open()), [""; 0]);
        let adam = json!({ "adam": { "learning_rate": 0.001 } });
        assert_eq!(fields(json!({ "optimizer": adam }), open()), ["plan.optimizer"]);
        let decaying = json!({ "sgd": { "learning_rate": 0.1, "weight_decay": 0.01 } });
        assert_eq!(fields(json!({ "optimizer": decaying }), open()), ["plan.optimizer"]);
        assert_eq!(fields(json!({ "proximal_term": 0.1 }), open()), ["plan.proximal_term"]);
        let warm_up = json!({ "warmup_steps": 3 });
        assert_eq!(fields(warm_up, open()), ["plan.learning_rate_schedule"]);
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        assert_eq!(fields(json!({}), local), ["aggregator.kind"]);
    }

    #[test]
    fn rules_with_losses_need_them_and_the_length_of_a_step() {
        let faults = |aggregator: Value, changes: Value| {
            let scheduling = json!({ "kind": "synchronous", "report_goal": 100 });
            let mut whole = json!({ "aggregator": aggregator, "scheduling": scheduling });
            for (key, value) in changes.as_object().expect("changes are an object") {
                whole[key] = value.clone();
            }
            described(whole).validate().into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        let adam = json!({ "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "adam": { "learning_rate": 0.001 } }, "epochs": 1, "batch_size": 16,
        } });
        let fair = || json!({ "kind": "q_fed_avg" });
        let term = || json!({ "kind": "term", "tilt": -2.0 });
        assert_eq!(faults(fair(), adam.clone()), ["aggregator.lipschitz"]);
        assert_eq!(faults(json!({ "kind": "q_fed_avg", "lipschitz": 100.0 }), adam.clone()), [""; 0]);
        assert_eq!(faults(term(), adam), [""; 0]);
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
        let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
        for rule in [fair(), term()] {
            assert_eq!(faults(rule.clone(), json!({})), [""; 0], "{rule}");
            for (key, value, fields) in [
                ("privacy", &local, ["aggregator.kind"]),
                ("privacy", &central, ["aggregator.kind"]),
                ("protection", &masks, ["aggregator.kind"]),
                ("mixing", &json!({ "byzantine_share": 0.1 }), ["mixing"]),
                ("finalizer", &json!({ "kind": "fed_exp" }), ["finalizer.kind"]),
                ("scheduling", &json!({ "kind": "asynchronous", "concurrency": 20 }), ["aggregator.kind"]),
            ] {
                assert_eq!(faults(rule.clone(), json!({ key: value })), fields, "{rule} {key}");
            }
        }
    }

    #[test]
    fn only_fed_nova_looks_at_the_steps() {
        let factors = |aggregator: &str, momentum: f64| {
            let plan = json!({
                "loss": "softmax_cross_entropy",
                "optimizer": { "sgd": { "learning_rate": 0.1, "momentum": momentum } },
                "epochs": 1,
                "batch_size": 16,
            });
            let description = described(json!({ "plan": plan, "aggregator": { "kind": aggregator } }));
            description.work_factors([(1, 2), (3, 6)].into_iter())
        };
        assert_eq!(factors("weighted_mean", 0.0), [1.0, 1.0]);
        // τ_eff is (1·2 + 3·6) / 4 = 5.
        assert_eq!(factors("fed_nova", 0.0), [2.5, 5.0 / 6.0]);
        // With momentum ½, the norms are 1.5 + 1 and 2·6 − 2·(1 − 2⁻⁶), and τ_eff is (2.5 + 3·10.03125) / 4.
        let expected = [8.1484375 / 2.5, 8.1484375 / 10.03125];
        let found = factors("fed_nova", 0.5);
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12), "{found:?}");
    }
}
