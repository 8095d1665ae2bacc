use folkmoot_aggregation::AggregatorChoice;
use folkmoot_coordinator::task::TaskDescription;

/// Refuses a task for which the versions without some of a round's updates cannot be computed. The error has the
/// reason.
///
/// # Errors
/// If there are no rounds, the coordinator sees no single updates, the values would reveal more than the task's privacy
/// allows, or the version is not a mean of the updates.
pub(crate) fn refuse_unfit(description: &TaskDescription) -> Result<(), String> {
    match misfit(description) {
        Some((found, reason, remedy)) => {
            Err(format!("the contributions of the clients cannot be computed: {found}; {reason}. {remedy}"))
        }
        None => Ok(()),
    }
}

/// Returns the setting that does not fit, the reason, and the remedy.
fn misfit(description: &TaskDescription) -> Option<(&'static str, &'static str, &'static str)> {
    let plan = &description.plan;
    if description.scheduling.policy().flow().is_some() {
        return Some((
            "scheduling.kind has no rounds",
            "the updates of a version start from several versions, so no model is the one without them",
            "Choose scheduling.kind = \"synchronous\"",
        ));
    }
    if description.protection.is_masked() {
        return Some((
            "protection masks the updates",
            "the coordinator sees their sum only",
            "Remove [protection] from a copy of the task",
        ));
    }
    if !description.privacy.is_none() {
        return Some((
            "privacy.kind is set",
            "a value for each client reveals more about the client than the noise in the versions allows",
            "Remove [privacy] from a copy of the task",
        ));
    }
    if plan.is_personal() || plan.clusters.is_some() || plan.widths.is_some() {
        return Some((
            "clients of the plan train different models",
            "no model is the one without a client",
            "Remove plan.personal, plan.personal_training, plan.clusters and plan.widths from a copy of the task",
        ));
    }
    let is_mean = matches!(
        description.aggregator,
        AggregatorChoice::WeightedMean
            | AggregatorChoice::UniformMean
            | AggregatorChoice::BoundedMean(_)
            | AggregatorChoice::NormBound(_)
            | AggregatorChoice::FedNova
    );
    if !is_mean || description.mixing.is_some() || description.bucketing.is_some() {
        return Some((
            "the aggregator is not a mean of the updates",
            "without a client, the rule would choose and change other updates, and the difference is not that client's",
            "Choose aggregator.kind = \"weighted_mean\", \"uniform_mean\", \"bounded_mean\", \"norm_bound\" or \"fed_nova\", without \
             mixing and bucketing",
        ));
    }
    let finalizer = &description.finalizer;
    if finalizer.finalizer().is_err() || finalizer.extrapolates() || finalizer.drift_correction().is_some() {
        return Some((
            "the finalizer does not depend on the mean of the updates alone",
            "a version without a client would need state that only a training without the client has",
            "Choose another finalizer.kind, for example \"fed_avg\" or \"fed_adam\"",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn task(changes: &Value) -> TaskDescription {
        let mut task = json!({
            "name": "digits",
            "population": "digits",
            "plan": {
                "loss": "softmax_cross_entropy",
                "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1,
                "batch_size": 8,
            },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "stop": { "rounds": 3 },
        });
        for (key, value) in changes.as_object().expect("changes are an object") {
            task[key] = value.clone();
        }
        serde_json::from_value(task).expect("it is a description")
    }

    #[test]
    fn a_task_that_is_no_mean_of_rounds_is_refused_with_a_reason() {
        for (changes, word) in [
            (json!({ "scheduling": { "kind": "asynchronous", "concurrency": 4 } }), "has no rounds"),
            (json!({ "protection": { "secure_aggregation": {} } }), "masks the updates"),
            (
                json!({ "privacy": { "kind": "local", "clipping_norm": 1.0, "epsilon": 8.0, "delta": 1e-5 } }),
                "privacy.kind",
            ),
            (json!({ "aggregator": { "kind": "median" } }), "not a mean"),
            (json!({ "aggregator": { "kind": "krum", "byzantine_share": 0.1 } }), "not a mean"),
            (json!({ "finalizer": { "kind": "scaffold", "clients": 10 } }), "the finalizer"),
            (json!({ "finalizer": { "kind": "fed_exp" } }), "the finalizer"),
        ] {
            let error = refuse_unfit(&task(&changes)).expect_err("it does not fit");
            assert!(error.contains(word), "{changes}: {error}");
        }
        for changes in [
            json!({}),
            json!({ "aggregator": { "kind": "norm_bound", "norm_max": 1.0 } }),
            json!({ "finalizer": { "kind": "fed_adam" }, "aggregator": { "kind": "uniform_mean" } }),
        ] {
            assert_eq!(refuse_unfit(&task(&changes)), Ok(()), "{changes}");
        }
    }
}
