use folkmoot_privacy::ledger::Participation;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::task::TaskDescription;

fn described(changes: Value) -> TaskDescription {
    let mut description = json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 100 },
        "aggregator": { "kind": "uniform_mean" },
        "privacy": { "kind": "central", "epsilon": 8.0, "delta": 1e-5 },
        "stop": { "rounds": 50 },
    });
    for (key, value) in changes.as_object().expect("changes are an object") {
        description[key] = value.clone();
    }
    serde_json::from_value(description).unwrap()
}

fn faults(changes: Value) -> Vec<String> {
    described(changes).validate().into_iter().map(|fault| fault.field).collect()
}

fn terms(changes: Value) -> Terms {
    let description = described(changes);
    Terms::of(description.privacy.central().unwrap(), &description).unwrap()
}

#[test]
fn a_budget_is_enough() {
    assert_eq!(faults(json!({})), [""; 0]);
    let terms = terms(json!({}));
    assert_eq!(terms.charge.participation, Participation::AtMost { count: 50 });
    assert_eq!((terms.count_deviation, terms.releases), (Some(5.0), Some(50)));
    let z = terms.charge.noise_multiplier.get();
    // The pair of sum and count costs what one sum of multiplier z costs.
    let pair = terms.update_multiplier.powi(-2) + 10f64.powi(-2);
    assert!((pair - z.powi(-2)).abs() < 1e-12, "{terms:?}");
}

#[test]
fn fewer_participations_need_less_noise() {
    let privacy = |most: u64| {
        let privacy = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": most,
            "clipping": { "kind": "fixed", "norm": 1.0 } });
        terms(json!({ "privacy": privacy }))
    };
    let ratio = privacy(40).update_multiplier / privacy(10).update_multiplier;
    assert!((ratio - 2.0).abs() < 1e-6, "rho grows with the participations: {ratio}");
    assert_eq!(privacy(10).count_deviation, None);
}

#[test]
fn every_way_around_the_noise_is_refused() {
    let found = faults(json!({
        "scheduling": { "kind": "buffered", "buffer_goal": 5, "concurrency": 20 },
        "aggregator": { "kind": "weighted_mean" },
        "selection": { "kind": "oort" },
        "evaluation": { "every_versions": 1, "metric": "accuracy", "federated": { "report_goal": 5 } },
    }));
    let expected = ["scheduling.kind", "aggregator.kind", "selection.kind", "evaluation.federated"];
    for field in expected {
        assert!(found.iter().any(|one| one == field), "{field} is not in {found:?}");
    }
}

#[test]
fn numbers_out_of_range_are_named() {
    let bad = json!({ "kind": "central", "epsilon": 0.0, "delta": 1.0, "participations_max": 0,
        "noise_multiplier": 0.0, "clipping": { "kind": "adaptive", "initial_norm": 99.0, "quantile": 1.0, "rate": 0.0 } });
    let fields = [
        "privacy.epsilon",
        "privacy.delta",
        "privacy.participations_max",
        "privacy.noise_multiplier",
        "privacy.clipping.initial_norm",
        "privacy.clipping.quantile",
        "privacy.clipping.rate",
    ];
    assert_eq!(faults(json!({ "privacy": bad })), fields);
    let endless =
        json!({ "privacy": { "kind": "central", "epsilon": 1.0, "delta": 1e-5 }, "stop": { "hours": 1.0 } });
    assert_eq!(faults(endless), ["privacy.participations_max", "privacy.noise_multiplier"]);
    let claim = json!({ "kind": "central", "epsilon": 1.0, "delta": 1e-5, "amplification": "poisson" });
    assert_eq!(faults(json!({ "privacy": claim })), ["privacy.amplification"]);
    let noisy = json!({ "kind": "central", "epsilon": 1.0, "delta": 1e-5, "noise_multiplier": 11.0 });
    assert_eq!(faults(json!({ "privacy": noisy })), ["privacy.clipping"], "2 · 5 is below 11");
}

#[test]
fn poisson_sampling_is_a_claim_of_its_own() {
    let claim = json!({ "kind": "central", "epsilon": 2.0, "delta": 1e-5, "amplification": "poisson",
        "clipping": { "kind": "fixed", "norm": 1.0 } });
    let sampled =
        terms(json!({ "privacy": claim, "selection": { "kind": "poisson", "sampling_rate": 0.01 } }));
    let plain = json!({ "kind": "central", "epsilon": 2.0, "delta": 1e-5, "clipping": { "kind": "fixed", "norm": 1.0 } });
    let plain = terms(json!({ "privacy": plain }));
    assert!(matches!(sampled.charge.participation, Participation::Poisson { .. }));
    assert!(sampled.update_multiplier < 0.3 * plain.update_multiplier, "{sampled:?} {plain:?}");
}

#[test]
fn the_norm_follows_the_quantile() {
    // All were shorter: the count is m · 1/2, the share 1, and C · e^(−0.2 · 0.5) is left.
    let next = next_clipping_norm(1.0, (0.5, 0.2), 50.0, 100, 16.0);
    assert!((next - (-0.1f64).exp()).abs() < 1e-12);
    let next = next_clipping_norm(1.0, (0.5, 0.2), -50.0, 100, 16.0);
    assert!((next - 0.1f64.exp()).abs() < 1e-12);
    assert_eq!(next_clipping_norm(10.0, (0.5, 1.0), -1e9, 100, 16.0), 16.0);
    assert!(next_clipping_norm(1.0, (0.5, 1.0), 1e9, 100, 16.0) > 0.0);
}

proptest! {
    #[test]
    fn norms_settle_at_the_median(seed in 0u64..100) {
        // Norms spread evenly over [0, 4] have their median at 2.
        let mut norm = 0.1;
        for _ in 0..200 {
            let shorter = (norm / 4.0f64).min(1.0) + (seed as f64 - 50.0) * 1e-5;
            norm = next_clipping_norm(norm, (0.5, 0.2), 100.0 * (shorter - 0.5), 100, 16.0);
        }
        prop_assert!((norm - 2.0).abs() < 0.05, "{}", norm);
    }
}
