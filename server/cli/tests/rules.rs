//! Tests of aggregators and finalizers over whole tasks in a virtual world, with and without hostile clients.

use folkmoot_simulation::{record::RoundRow, spread::Fairness};
use serde_json::{Value, json};

use crate::simulate::{bits, grid, run, task, world};

/// About a third of the clients are hostile. The mean fails, and robust aggregators still learn.
#[tokio::test]
async fn robust_rules_hold_where_the_mean_sinks() {
    let adversary = json!({ "share": 0.3, "attack": { "kind": "sign_flip", "factor": 8.0 } });
    let settings = || world(&json!({ "adversary": adversary }));
    let with = async |aggregator: Value, mixing: Value| {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 });
        let changes =
            json!({ "aggregator": aggregator, "mixing": mixing, "scheduling": scheduling, "grid": grid() });
        run(task(&changes), settings(), 2).await.last_metric().unwrap_or_default()
    };
    let accuracy = async |aggregator: Value| with(aggregator, Value::Null).await;
    let mean = accuracy(json!({ "kind": "weighted_mean" })).await;
    let median = accuracy(json!({ "kind": "median" })).await;
    let trimmed = accuracy(json!({ "kind": "trimmed_mean", "trim_share": 0.35 })).await;
    let krum = accuracy(json!({ "kind": "multi_krum", "byzantine_share": 0.35 })).await;
    assert!(mean < 0.4, "the mean came to {mean}");
    assert!(median > 0.75 && trimmed > 0.7 && krum > 0.75, "{median}, {trimmed}, {krum}");
    let geometric = accuracy(json!({ "kind": "geometric_median" })).await;
    let clipping = accuracy(json!({ "kind": "centred_clipping", "norm_max": 0.5 })).await;
    let mixed = with(json!({ "kind": "median" }), json!({ "byzantine_share": 0.35 })).await;
    assert!(geometric > 0.75 && clipping > 0.7 && mixed > 0.75, "{geometric}, {clipping}, {mixed}");
    let signs = accuracy(json!({ "kind": "sign_guard" })).await;
    let flame = accuracy(json!({ "kind": "flame" })).await;
    assert!(signs > 0.75 && flame > 0.75, "{signs}, {flame}");
}

/// A fifth of the clients are hostile, which Bulyan tolerates.
#[tokio::test]
async fn bulyan_holds_where_the_mean_sinks() {
    let adversary = json!({ "share": 0.2, "attack": { "kind": "sign_flip", "factor": 12.0 } });
    let accuracy = async |aggregator: Value| {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 });
        let changes = json!({ "aggregator": aggregator, "scheduling": scheduling, "grid": grid() });
        run(task(&changes), world(&json!({ "adversary": adversary })), 2)
            .await
            .last_metric()
            .unwrap_or_default()
    };
    let mean = accuracy(json!({ "kind": "weighted_mean" })).await;
    let bulyan = accuracy(json!({ "kind": "bulyan", "byzantine_share": 0.2 })).await;
    assert!(mean < 0.4 && bulyan > 0.75, "{mean}, {bulyan}");
}

/// A tenth of the clients are hostile, so they spoil at most a fifth of the buckets of two updates.
#[tokio::test]
async fn buckets_of_updates_hold_where_the_mean_sinks() {
    let adversary = json!({ "share": 0.1, "attack": { "kind": "sign_flip", "factor": 24.0 } });
    let accuracy = async |aggregator: Value, bucketing: Value| {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 });
        let partition = json!({ "kind": "dirichlet", "alpha": 0.3 });
        let changes = json!({ "aggregator": aggregator, "bucketing": bucketing, "scheduling": scheduling, "grid": grid() });
        let settings = world(&json!({ "adversary": adversary, "partition": partition }));
        run(task(&changes), settings, 2).await.last_metric().unwrap_or_default()
    };
    let mean = accuracy(json!({ "kind": "weighted_mean" }), Value::Null).await;
    let buckets = json!({ "bucket_size": 2 });
    let median = accuracy(json!({ "kind": "median" }), buckets.clone()).await;
    let krum = accuracy(json!({ "kind": "multi_krum", "byzantine_share": 0.15 }), buckets).await;
    assert!(mean < 0.4 && median > 0.6 && krum > 0.6, "{mean}, {median}, {krum}");
}

/// Four of ten clients send copies of one update. FoolsGold gives them no weight, as long as honest clients differ.
#[tokio::test]
async fn copies_of_one_update_count_for_nothing_under_fools_gold() {
    let adversary = json!({ "share": 0.4, "attack": { "kind": "inner_product", "epsilon": 4.0 } });
    let accuracy = async |aggregator: Value| {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 30, "over_selection_factor": 1.0 });
        let partition = json!({ "kind": "dirichlet", "alpha": 0.3 });
        let changes = json!({ "aggregator": aggregator, "scheduling": scheduling, "grid": grid() });
        let settings = world(&json!({ "adversary": adversary, "partition": partition }));
        run(task(&changes), settings, 2).await.last_metric().unwrap_or_default()
    };
    let mean = accuracy(json!({ "kind": "weighted_mean" })).await;
    let fools_gold = accuracy(json!({ "kind": "fools_gold", "norm_max": 2.0 })).await;
    assert!(mean < 0.4 && fools_gold > 0.6, "{mean}, {fools_gold}");
}

/// Rules with random choices draw them from the round and its updates, so a run can be repeated on any number of threads.
#[tokio::test]
async fn rules_with_random_choices_give_the_same_bytes_again() {
    let clipping = json!({ "kind": "centred_clipping", "norm_max": 0.5 });
    for mut changes in [
        json!({ "aggregator": { "kind": "sign_guard" } }),
        json!({ "aggregator": { "kind": "flame" } }),
        json!({ "aggregator": clipping, "bucketing": { "bucket_size": 2 } }),
    ] {
        changes["scheduling"] = json!({ "kind": "synchronous", "report_goal": 12 });
        changes["stop"] = json!({ "rounds": 3 });
        let [one, several] = [1, 3].map(|threads| run(task(&changes), world(&json!({})), threads));
        assert_eq!(bits(&one.await.weights), bits(&several.await.weights), "{changes}");
    }
}

/// Clients of different sizes make different numbers of steps; clients with different classes disagree.
#[tokio::test]
async fn normalised_updates_and_extrapolated_steps_learn() {
    let accuracy = async |changes: Value, partition: Value| {
        let settings = world(&json!({ "partition": partition }));
        run(task(&changes), settings, 2).await.last_metric().unwrap_or_default()
    };
    let sizes = json!({ "kind": "quantity_skew", "sizes": { "power_law": { "exponent": 1.0 } } });
    let nova = accuracy(json!({ "aggregator": { "kind": "fed_nova" } }), sizes).await;
    let exp = json!({ "aggregator": { "kind": "uniform_mean" }, "finalizer": { "kind": "fed_exp" } });
    let exp = accuracy(exp, json!({ "kind": "dirichlet", "alpha": 0.5 })).await;
    assert!(nova > 0.75 && exp > 0.75, "{nova}, {exp}");
}

/// Clients with different classes have different losses. Fair rules learn, and without fairness they are the weighted mean.
#[tokio::test]
async fn fair_rules_learn_and_differ_from_the_mean_where_losses_differ() {
    let metrics = async |aggregator: Value| {
        let changes = json!({ "aggregator": aggregator, "stop": { "rounds": 12 } });
        let settings = world(&json!({ "partition": { "kind": "dirichlet", "alpha": 0.3 } }));
        let outcome = run(task(&changes), settings, 2).await;
        outcome.rounds.iter().filter_map(|row| row.held_out_metric).collect::<Vec<f64>>()
    };
    let mean = metrics(json!({ "kind": "weighted_mean" })).await;
    for neutral in
        [json!({ "kind": "q_fed_avg", "q": 0.0, "lipschitz": 2.0 }), json!({ "kind": "term", "tilt": 0.0 })]
    {
        assert!(is_alike(&metrics(neutral.clone()).await, &mean), "{neutral}");
    }
    for fair in [json!({ "kind": "q_fed_avg", "lipschitz": 0.1 }), json!({ "kind": "term" })] {
        let found = metrics(fair.clone()).await;
        let (first, last) = (found[0], found[found.len() - 1]);
        assert!(
            !is_alike(&found, &mean) && last > first && last > 0.5,
            "{fair}: {found:?}, and {mean:?} with the mean"
        );
    }
}

/// Clients that hold out examples measure how evenly a version serves them.
#[tokio::test]
async fn the_worst_tenth_of_the_clients_is_recorded() {
    let partition = json!({ "kind": "dirichlet", "alpha": 0.3 });
    let settings = world(&json!({ "partition": partition, "held_out_of_clients": true }));
    let outcome = run(task(&json!({ "stop": { "rounds": 3 } })), settings, 2).await;
    for row in outcome.rounds.iter().filter(|row| row.version.is_some()) {
        let found = row.fairness().expect("the clients measured the version");
        let is_sorted = found.worst_tenth < found.mean && found.mean < found.best_tenth;
        assert!(is_sorted && found.deviation > 0.0, "{found:?}");
    }
    let last = outcome.rounds.iter().rev().find_map(RoundRow::fairness);
    assert_eq!(Fairness::of(&outcome.client_metrics, true), last);
    let central = run(task(&json!({ "stop": { "rounds": 1 } })), world(&json!({})), 2).await;
    assert!(central.client_metrics.is_empty() && central.rounds[0].fairness().is_none());
}

/// Returns whether two series of accuracies are equal up to rounding. `weighted_mean` sums exactly; the fair rules round.
fn is_alike(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() < 0.02)
}

/// FedNova divides updates by the steps that clients report. If all make as many steps, it is the weighted mean.
#[tokio::test]
async fn the_reported_steps_decide_how_fed_nova_differs_from_the_mean() {
    let metrics = async |kind: &str, partition: &Value| {
        let changes = json!({ "aggregator": { "kind": kind }, "stop": { "rounds": 4 } });
        let outcome = run(task(&changes), world(&json!({ "partition": partition })), 2).await;
        outcome.rounds.iter().filter_map(|row| row.held_out_metric).collect::<Vec<f64>>()
    };
    let alike = json!({ "kind": "iid" });
    assert_eq!(metrics("fed_nova", &alike).await, metrics("weighted_mean", &alike).await);
    let skewed = json!({ "kind": "quantity_skew", "sizes": { "power_law": { "exponent": 1.0 } } });
    assert_ne!(metrics("fed_nova", &skewed).await, metrics("weighted_mean", &skewed).await);
}
