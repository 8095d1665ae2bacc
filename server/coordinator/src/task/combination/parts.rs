//! Checks for choices that contradict clusters or widths.

use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};

use super::super::{Fault, TaskDescription};
use crate::scheduling::{Correction, StalenessWeight};

/// Lists the contradictions between clusters or widths and other choices.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let (field, others) = match (&description.plan.clusters, &description.plan.widths) {
        (Some(_), _) => ("plan.clusters", "all clusters but one"),
        (None, Some(_)) => ("plan.widths", "parameters that only wider models have"),
        (None, None) => return,
    };
    let mut refuse = |is_wrong: bool, key: &str, message: &str, remedy: &str| {
        if is_wrong {
            faults.push(Fault::new(key, format!("with {field}, {message}"), remedy));
        }
    };
    let is_mean =
        matches!(description.aggregator, AggregatorChoice::WeightedMean | AggregatorChoice::UniformMean);
    refuse(
        !is_mean,
        "aggregator.kind",
        &format!("an update has zeros at the places of {others}; this rule would treat them as values"),
        "choose aggregator.kind = \"weighted_mean\" or \"uniform_mean\"",
    );
    refuse(
        !description.privacy.is_none(),
        "privacy.kind",
        "each mean is divided by the share of the clients that have trained it, which would amplify the noise",
        &format!("remove [privacy], or {field}"),
    );
    let finalizer = &description.finalizer;
    let is_of_single_values = finalizer.drift_correction().is_none()
        && finalizer.plain_mean().is_none()
        && !matches!(finalizer, FinalizerChoice::Component(_));
    refuse(
        !is_of_single_values,
        "finalizer.kind",
        "clients train different tensors, but this finalizer.kind needs updates of all tensors from every client",
        "choose \"fed_avg\", \"fed_avg_m\", \"proximal\", \"fed_adagrad\", \"fed_adam\" or \"fed_yogi\"",
    );
    refuse(
        description.scheduling.policy().staleness().correction != Correction::None,
        "scheduling.staleness.correction",
        "it changes an update by a difference of two versions, also at places that the client has not trained",
        "set correction = { kind = \"none\" }",
    );
    refuse(
        description.scheduling.policy().staleness().weight != StalenessWeight::Constant,
        "scheduling.staleness.weight",
        "a mean is divided by the weight of its updates, so a lower weight would not shorten the step",
        "set weight = { kind = \"constant\" }",
    );
    let recipes = description.compression.iter();
    let mut recipes = recipes.chain(description.compression_choices.iter().map(|choice| &choice.recipe));
    refuse(
        recipes.any(|recipe| recipe.uses_memory()),
        "compression",
        "a codec with memory adds the values that it left out to a later update, but by then the client may train other tensors",
        "choose a codec without memory, such as \"eden:4\"",
    );
    refuse(
        description.grid.value_max < 1.0,
        "grid.value_max",
        "an update marks its share with the value 1, which is above this limit",
        "set it to 1 or more; the default is 16",
    );
    refuse(
        description.plan.clusters.is_some() && description.measures_centrally(),
        "evaluation.central",
        "your examples belong to no client, so the coordinator cannot choose a cluster for them",
        "set evaluation.central = false, and add [evaluation.federated]",
    );
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::samples::described;

    fn fields(key: &str, value: Value) -> Vec<String> {
        fields_of(json!({ "clusters": { "count": 3 } }), key, value)
    }

    fn fields_of(parts: Value, key: &str, value: Value) -> Vec<String> {
        let mut all = json!({
            "plan": {
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 8,
            },
            "scheduling": { "kind": "synchronous", "report_goal": 100 },
            "aggregator": { "kind": "weighted_mean" },
        });
        all["plan"]
            .as_object_mut()
            .expect("it is an object")
            .extend(parts.as_object().cloned().unwrap_or_default());
        all[key] = value;
        described(all).validate().into_iter().map(|fault| fault.field).collect()
    }

    fn buffered(staleness: Value) -> Value {
        json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20, "staleness": staleness })
    }

    #[test]
    fn clusters_go_with_means_in_the_clear_or_under_masks() {
        assert_eq!(fields("aggregator", json!({ "kind": "uniform_mean" })), [""; 0]);
        assert_eq!(fields("finalizer", json!({ "kind": "fed_adam" })), [""; 0]);
        assert_eq!(fields("protection", json!({ "secure_aggregation": { "corrupt_share": 0.1 } })), [""; 0]);
        assert_eq!(fields("compression", json!({ "codec": "eden:4" })), [""; 0]);
        assert_eq!(fields("scheduling", buffered(json!({ "weight": { "kind": "constant" } }))), [""; 0]);
        let federated = json!({ "federated": { "report_goal": 5 } });
        assert_eq!(fields("evaluation", federated), [""; 0]);
    }

    #[test]
    fn what_takes_the_clusters_for_one_model_is_refused() {
        for kind in ["bounded_mean", "median", "fed_nova"] {
            assert_eq!(fields("aggregator", json!({ "kind": kind })), ["aggregator.kind"], "{kind}");
        }
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        assert!(fields("privacy", local).contains(&"privacy.kind".to_owned()));
        for kind in ["fed_exp", "fed_dyn", "l_bfgs"] {
            let finalizer = match kind {
                "fed_dyn" => json!({ "kind": kind, "clients": 10 }),
                _ => json!({ "kind": kind }),
            };
            assert_eq!(fields("finalizer", finalizer), ["finalizer.kind"], "{kind}");
        }
        assert_eq!(fields("compression", json!({ "codec": "top_k:0.1" })), ["compression"]);
        assert_eq!(fields("evaluation", json!({ "central": true })), ["evaluation.central"]);
        let grid = json!({ "fraction_bits": 28, "value_max": 0.5, "weight_max": 10_000 });
        assert_eq!(fields("grid", grid), ["grid.value_max"]);
        assert_eq!(fields("anomaly_scores", json!(true)), ["anomaly_scores"]);
        let weight = json!({ "kind": "constant" });
        let correction = json!({ "kind": "delay_compensation", "lambda": 0.1 });
        let corrected = buffered(json!({ "correction": correction, "weight": weight }));
        assert_eq!(fields("scheduling", corrected), ["scheduling.staleness.correction"]);
        let weighted = buffered(json!({ "weight": { "kind": "polynomial", "exponent": 0.5 } }));
        assert_eq!(fields("scheduling", weighted), ["scheduling.staleness.weight"]);
    }

    #[test]
    fn widths_are_refused_with_the_same_choices_and_measured_anywhere() {
        let of = |key: &str, value| fields_of(json!({ "widths": { "ratios": [1.0, 0.5] } }), key, value);
        assert_eq!(of("evaluation", json!({ "central": true })), [""; 0]);
        assert_eq!(of("aggregator", json!({ "kind": "uniform_mean" })), [""; 0]);
        assert_eq!(of("aggregator", json!({ "kind": "median" })), ["aggregator.kind"]);
        assert_eq!(of("finalizer", json!({ "kind": "fed_exp" })), ["finalizer.kind"]);
        assert_eq!(of("compression", json!({ "codec": "top_k:0.1" })), ["compression"]);
        assert_eq!(of("anomaly_scores", json!(true)), ["anomaly_scores"]);
    }
}
