use serde_json::{Value, json};

use crate::samples::described;

/// Lists rules that use the coordinator's own examples.
fn rules() -> Vec<Value> {
    vec![json!({ "kind": "fl_trust" }), json!({ "kind": "fed_law" }), json!({ "kind": "fed_df" })]
}

fn fields(rule: &Value, key: &str, value: &Value) -> Vec<String> {
    let mut all = json!({
        "scheduling": { "kind": "synchronous", "report_goal": 100 }, "aggregator": rule,
    });
    all[key] = value.clone();
    described(all).validate().into_iter().map(|fault| fault.field).collect()
}

fn plan(key: &str, value: &Value) -> Value {
    let mut plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 8,
    });
    plan[key] = value.clone();
    plan
}

#[test]
fn the_coordinator_computes_beside_one_round_of_one_model_in_the_clear() {
    for rule in rules() {
        assert_eq!(fields(&rule, "prefetch", &json!(false)), [""; 0], "{rule}");
        assert_eq!(fields(&rule, "evaluation", &json!({ "central": true })), [""; 0], "{rule}");
        assert_eq!(fields(&rule, "compression", &json!({ "codec": "eden:4" })), [""; 0], "{rule}");
        assert_eq!(fields(&rule, "finalizer", &json!({ "kind": "fed_adam" })), [""; 0], "{rule}");
        let personal = json!({ "ditto": { "lambda": 0.1, "epochs": 1 } });
        assert_eq!(fields(&rule, "plan", &plan("personal_training", &personal)), [""; 0], "{rule}");
        let asks = json!({ "kind": "aggressive_synchronous", "cohort": 10 });
        assert_eq!(fields(&rule, "scheduling", &asks), [""; 0], "{rule}");
    }
}

#[test]
fn what_hides_updates_or_gives_them_other_starts_is_refused() {
    let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
    let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
    let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
    let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
    let wifi = json!({ "attribute": "network", "condition": { "equals": "wifi" } });
    let choices = json!([{ "when": [wifi], "recipe": { "codec": "bf16" } }]);
    let cases = [
        ("privacy", central, "aggregator.kind"),
        ("protection", masks, "aggregator.kind"),
        ("scheduling", buffered, "scheduling.kind"),
        ("compression_choices", choices, "compression_choices"),
        ("mixing", json!({ "byzantine_share": 0.1 }), "mixing"),
        ("bucketing", json!({ "bucket_size": 2 }), "bucketing"),
        ("finalizer", json!({ "kind": "fed_exp" }), "finalizer.kind"),
        ("finalizer", json!({ "kind": "scaffold", "clients": 50 }), "finalizer.kind"),
        ("plan", plan("clusters", &json!({ "count": 3 })), "aggregator.kind"),
        ("plan", plan("personal", &json!(["head.*"])), "plan.personal"),
        ("plan", plan("statistics", &json!("keep_local")), "plan.statistics"),
        ("plan", plan("elastic_averaging", &json!({ "alpha": 0.5 })), "plan.elastic_averaging"),
    ];
    for rule in rules() {
        for (key, value, field) in &cases {
            assert_eq!(fields(&rule, key, value), [*field], "{rule} with {key}: {value}");
        }
        assert!(fields(&rule, "privacy", &local).contains(&"aggregator.kind".to_owned()), "{rule}");
        let mut fed_cm = described(json!({
            "scheduling": { "kind": "synchronous", "report_goal": 100 }, "aggregator": rule,
            "finalizer": { "kind": "fed_cm" },
        }));
        (fed_cm.plan.epochs, fed_cm.plan.steps_max) = (2, Some(2));
        let found: Vec<String> = fed_cm.validate().into_iter().map(|fault| fault.field).collect();
        assert_eq!(found, ["finalizer.kind"], "{rule}");
    }
}

#[test]
fn only_probabilities_of_classes_are_distilled() {
    let squares = plan("loss", &json!("mean_squared_error"));
    assert_eq!(fields(&json!({ "kind": "fed_df" }), "plan", &squares), ["plan.loss"]);
    assert_eq!(fields(&json!({ "kind": "fed_law" }), "plan", &squares), [""; 0]);
}

#[test]
fn afl_needs_the_losses_of_known_clients_of_one_round() {
    let rule = json!({ "kind": "afl", "clients": 10 });
    assert_eq!(fields(&rule, "compression", &json!({ "codec": "eden:4" })), [""; 0]);
    assert_eq!(fields(&rule, "finalizer", &json!({ "kind": "fed_adam" })), [""; 0]);
    let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
    let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
    let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
    let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
    for (key, value, field) in [
        ("privacy", central, "aggregator.kind"),
        ("privacy", local, "aggregator.kind"),
        ("protection", masks, "aggregator.kind"),
        ("scheduling", buffered, "scheduling.kind"),
        ("plan", plan("clusters", &json!({ "count": 3 })), "aggregator.kind"),
        ("mixing", json!({ "byzantine_share": 0.1 }), "mixing"),
        ("finalizer", json!({ "kind": "fed_exp" }), "finalizer.kind"),
        ("finalizer", json!({ "kind": "fed_dyn", "clients": 50 }), "finalizer.kind"),
    ] {
        assert_eq!(fields(&rule, key, &value), [field], "{key}: {value}");
    }
}
