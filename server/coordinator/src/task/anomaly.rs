//! The scores that say how unusual single updates are.

use super::{Fault, TaskDescription};

impl TaskDescription {
    /// Returns whether the coordinator scores how unusual each update of a commit is. It can if it reads the updates back, and if
    /// nobody was promised that single updates stay hidden.
    pub fn scores_updates(&self) -> bool {
        self.anomaly_scores != Some(false) && !self.sums_on_arrival() && hidden(self).is_none()
    }
}

/// Records a fault if scores are asked for, but would show what the task hides.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    if let (Some(true), Some(message)) = (description.anomaly_scores, hidden(description)) {
        let remedy = "remove anomaly_scores";
        faults.push(Fault::new("anomaly_scores", message, remedy));
    }
}

/// Returns why nothing can be said about single updates, if so.
fn hidden(description: &TaskDescription) -> Option<&'static str> {
    if description.protection.is_masked() {
        Some("scores are computed from single updates, which secure aggregation hides from the coordinator")
    } else if !description.privacy.is_none() {
        Some(
            "scores would show the lengths and directions of single updates, which privacy.kind does not cover with noise",
        )
    } else if description.plan.example_privacy.is_some() {
        Some(
            "scores would show figures about single updates, but plan.example_privacy keeps the measurements of clients secret",
        )
    } else if description.plan.clusters.is_some() || description.plan.widths.is_some() {
        Some(
            "scores compare updates with the mean of all, but with plan.clusters or plan.widths, updates are of different tensors",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::{TaskDescription, samples::described};

    fn with(changes: &[(&str, Value)]) -> TaskDescription {
        let mut parts = json!({ "scheduling": { "kind": "synchronous", "report_goal": 100 } });
        for (key, value) in changes {
            parts[*key] = value.clone();
        }
        described(parts)
    }

    #[test]
    fn updates_that_are_read_back_are_scored_unless_the_task_says_otherwise() {
        let scores = |kind: &str, scores: Value| {
            let task = with(&[("aggregator", json!({ "kind": kind })), ("anomaly_scores", scores)]);
            assert_eq!(task.validate(), []);
            (task.scores_updates(), task.sums_on_arrival())
        };
        assert_eq!(scores("median", Value::Null), (true, false));
        assert_eq!(scores("median", json!(false)), (false, false));
        assert_eq!(scores("bounded_mean", Value::Null), (false, true));
        // A mean then reads its updates back, too.
        assert_eq!(scores("bounded_mean", json!(true)), (true, false));
        let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
        assert!(with(&[("scheduling", buffered)]).scores_updates());
    }

    #[test]
    fn nothing_is_scored_where_single_updates_are_hidden() {
        let mean = ("aggregator", json!({ "kind": "uniform_mean" }));
        let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
        let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        for (key, value) in [("protection", masks), ("privacy", central), ("privacy", local)] {
            let task = with(&[mean.clone(), (key, value.clone())]);
            assert_eq!((task.validate(), task.scores_updates()), (vec![], false), "{value}");
            let task = with(&[mean.clone(), (key, value), ("anomaly_scores", json!(true))]);
            let [fault] = task.validate().try_into().expect("there is one fault");
            assert_eq!(fault.field, "anomaly_scores");
            assert!(!task.scores_updates() && fault.remedy.contains("remove anomaly_scores"), "{fault}");
        }
    }
}
