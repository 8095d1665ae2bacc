use serde_json::{Value, json};

use crate::samples::described;

fn fields(changes: Value) -> Vec<String> {
    let mut all = json!({
        "scheduling": { "kind": "synchronous", "report_goal": 100 },
        "aggregator": { "kind": "component", "component": "a.wasm" },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        all[key] = value.clone();
    }
    described(all).validate().into_iter().map(|fault| fault.field).collect()
}

#[test]
fn a_component_sees_single_updates_in_the_clear() {
    assert_eq!(fields(json!({})), [""; 0]);
    let asynchronous = json!({ "kind": "asynchronous", "concurrency": 20 });
    assert_eq!(fields(json!({ "scheduling": asynchronous })), [""; 0]);
    let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
    assert_eq!(fields(json!({ "scheduling": buffered })), [""; 0]);
    let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
    let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
    let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
    for (key, value) in [("privacy", central), ("privacy", local), ("protection", masks)] {
        assert_eq!(fields(json!({ key: value })), ["aggregator.kind"], "{key}: {value}");
    }
    let huge = json!({ "kind": "synchronous", "report_goal": 20_000, "over_selection_factor": 1.0 });
    assert_eq!(fields(json!({ "scheduling": huge })), ["scheduling.report_goal"]);
}

#[test]
fn a_component_gets_updates_as_they_are_and_keeps_its_state_to_itself() {
    assert_eq!(fields(json!({ "mixing": { "byzantine_share": 0.1 } })), ["mixing"]);
    assert_eq!(fields(json!({ "bucketing": { "bucket_size": 2 } })), ["bucketing"]);
    assert_eq!(fields(json!({ "finalizer": { "kind": "fed_exp" } })), ["finalizer.kind"]);
    assert_eq!(fields(json!({ "finalizer": { "kind": "scaffold", "clients": 50 } })), ["finalizer.kind"]);
    let plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
        "epochs": 1, "batch_size": 8, "steps_max": 1,
    });
    assert_eq!(fields(json!({ "plan": plan, "finalizer": { "kind": "fed_cm" } })), ["finalizer.kind"]);
}

#[test]
fn a_component_that_sees_only_the_aggregate_goes_with_masks_and_not_with_privacy() {
    let finalizer = json!({ "kind": "component", "component": "a.wasm" });
    for aggregator in ["uniform_mean", "median", "component"] {
        let aggregator = json!({ "kind": aggregator, "component": "a.wasm" });
        let aggregator = match aggregator["kind"].as_str() {
            Some("component") => aggregator,
            kind => json!({ "kind": kind }),
        };
        assert_eq!(fields(json!({ "finalizer": finalizer, "aggregator": aggregator })), [""; 0]);
    }
    let mean = json!({ "kind": "uniform_mean" });
    let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
    let with =
        |key: &str, value: Value| fields(json!({ "finalizer": finalizer, "aggregator": mean, key: value }));
    assert_eq!(with("protection", masks), [""; 0]);
    let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
    let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
    for privacy in [central, local] {
        assert_eq!(with("privacy", privacy.clone()), ["finalizer.kind"], "{privacy}");
    }
    let mixing = json!({ "kind": "asynchronous", "concurrency": 20, "staleness": { "correction": { "kind": "model_mixing" } } });
    let changes = json!({ "finalizer": finalizer, "aggregator": mean, "scheduling": mixing });
    assert_eq!(fields(changes), ["scheduling.staleness.correction"]);
}

/// A selection reads what clients report, and decides whose updates are in a sum.
#[test]
fn a_selection_of_ones_own_goes_with_neither_privacy_nor_masks() {
    let own = json!({ "kind": "component", "component": "a.wasm" });
    let with = |key: &str, value: Value| {
        let mut all = json!({
            "scheduling": { "kind": "synchronous", "report_goal": 100, "over_selection_factor": 1.0 },
            "aggregator": { "kind": "uniform_mean" }, "selection": own,
        });
        all[key] = value;
        described(all).validate().into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    assert_eq!(with("name", json!("free")), [""; 0]);
    let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6, "clipping": { "kind": "fixed", "norm": 1.0 } });
    let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
    let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
    let key = |first: &str| format!("{first}{}==", "A".repeat(85));
    let keys = ["A", "B", "C"].map(key);
    let committee = json!({ "committee": { "members": keys } });
    for (key, value) in
        [("privacy", central), ("privacy", local), ("protection", masks), ("protection", committee)]
    {
        assert!(with(key, value.clone()).contains(&"selection.kind".to_owned()), "{key}: {value}");
    }
    let plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 8,
        "example_privacy": { "noise_multiplier": 1.0 },
    });
    assert!(with("plan", plan).contains(&"selection.kind".to_owned()));
}
