//! Tests which tasks may correct the drift of clients.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::LocalOptimizer;
use serde_json::{Value, json};

use crate::simulate::task as described;

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
    described(&changes)
}

fn fields(kind: &str, plan: Value, others: Value) -> Vec<String> {
    task(kind, plan, others).validate().into_iter().map(|fault| fault.field).collect()
}

#[test]
fn a_task_that_keeps_to_the_rules_is_let_through() {
    for kind in ["scaffold", "fed_dyn", "fed_dc"] {
        assert_eq!(fields(kind, json!({}), json!({})), [""; 0]);
        assert_eq!(fields(kind, json!({ "personal": ["head.*"] }), json!({})), [""; 0]);
        let masks = json!({ "aggregator": { "kind": "uniform_mean" }, "protection": { "secure_aggregation": { "corrupt_share": 0.1 } } });
        assert_eq!(fields(kind, json!({}), masks), [""; 0]);
    }
    let ditto = json!({ "personal_training": { "ditto": { "lambda": 0.1, "epochs": 1 } } });
    assert_eq!(fields("fed_dyn", ditto, json!({})), [""; 0]);
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
    for kind in ["scaffold", "fed_dyn", "fed_dc"] {
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
        for beside in [
            json!({ "apfl": { "alpha": 0.5 } }),
            json!({ "p_fed_me": { "lambda": 15.0, "learning_rate": 0.01, "steps": 5 } }),
        ] {
            let plan = json!({ "personal_training": beside });
            assert_eq!(fields(kind, plan, json!({})), ["plan.personal_training"], "{kind}");
        }
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
        for kind in ["scaffold", "fed_dc"] {
            assert_eq!(fields(kind, plan.clone(), json!({})), [field], "{kind}: {plan}");
        }
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
    let others = json!({ "finalizer": { "kind": "fed_dc", "clients": 50, "alpha": 0.25 } });
    let fed_dc = task("fed_dc", json!({}), others);
    let rate_sum = fed_dc.local_rate_sum([(1, 2)].into_iter());
    assert_eq!((rate_sum, fed_dc.client_training().proximal_term), (0.25, 0.25));
    let fed_cm = task("fed_cm", json!({}), json!({ "finalizer": { "kind": "fed_cm", "alpha": 0.5 } }));
    let rate_sum = fed_cm.local_rate_sum([(1, 2)].into_iter());
    assert_eq!((rate_sum, fed_cm.client_training().optimizer), (0.25, LocalOptimizer::sgd(0.0625)));
}
