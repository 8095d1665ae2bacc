//! Checks that a fine-tuning in evaluations fits the rest of the task.

use folkmoot_protocol::FineTuning;

use crate::task::{Fault, TaskDescription};

const FIELD: &str = "evaluation.federated.fine_tuning";

impl TaskDescription {
    /// Returns the fine-tuning of the task's evaluations by clients; `None` if there is none.
    pub fn fine_tuning(&self) -> Option<FineTuning> {
        self.evaluation.as_ref()?.federated.as_ref()?.fine_tuning
    }
}

pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if description.fine_tuning().is_none() {
        return;
    }
    let mut refuse = |message, remedy| faults.push(Fault::new(FIELD, message, remedy));
    if description.plan.is_personal() {
        refuse(
            "clients predict with their own tensors, model or cluster, and evaluations already measure these",
            "remove fine_tuning, or plan.personal, plan.personal_training and plan.clusters",
        );
    }
    if description.plan.widths.is_some() {
        refuse(
            "weak clients train narrower models, but a fine-tuning would train the whole model",
            "remove fine_tuning, or plan.widths",
        );
    }
    if !description.privacy.is_none() {
        refuse(
            "clients of a private task report no metrics, so there is nothing to compare",
            "remove fine_tuning, or compare with `folkmoot simulate` without privacy",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::samples::described;

    fn faults(fine_tuning: &serde_json::Value, change: serde_json::Value) -> Vec<String> {
        let mut whole = json!({
            "evaluation": { "federated": { "report_goal": 5, "fine_tuning": fine_tuning } },
        });
        let changed = whole.as_object_mut().expect("it is an object");
        changed.extend(change.as_object().expect("it is an object").clone());
        described(whole)
            .validate()
            .into_iter()
            .map(|fault| fault.field)
            .filter(|field| field.starts_with(FIELD))
            .collect()
    }

    #[test]
    fn a_fine_tuning_needs_a_shared_model_in_the_clear() {
        let tuning = json!({ "epochs": 1, "learning_rate": 0.1 });
        let plan = |more: serde_json::Value| {
            let mut plan = json!({
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1,
                "batch_size": 8,
            });
            plan.as_object_mut()
                .expect("it is an object")
                .extend(more.as_object().expect("it is one").clone());
            json!({ "plan": plan })
        };
        assert_eq!(faults(&tuning, json!({})), [""; 0]);
        for more in [
            json!({ "personal": ["head.*"] }),
            json!({ "personal_training": { "ditto": { "lambda": 0.1, "epochs": 1 } } }),
            json!({ "clusters": { "count": 2 } }),
            json!({ "widths": { "ratios": [1.0, 0.5] } }),
        ] {
            assert_eq!(faults(&tuning, plan(more.clone())), [FIELD], "{more}");
        }
        let private = json!({ "privacy": {
            "kind": "local", "epsilon": 8.0, "delta": 1e-6, "clipping_norm": 1.0,
        } });
        assert_eq!(faults(&tuning, private), [FIELD]);
        for (field, value) in
            [("epochs", json!(0)), ("learning_rate", json!(0.0)), ("held_out_share", json!(0.95))]
        {
            let mut wrong = tuning.clone();
            wrong[field] = value;
            assert_eq!(faults(&wrong, json!({})), [format!("{FIELD}.{field}")]);
        }
    }
}
