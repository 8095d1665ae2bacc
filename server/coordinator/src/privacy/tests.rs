use folkmoot_privacy::ledger::Participation;
use folkmoot_protocol::{ClientId, OrganisationId, RoundId, TaskId, Timestamp, UserKey};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    participation::{History, Participated, User, Waiting},
    round::{Phase, Purpose, Round},
    scheduling::SchedulingPolicy,
    task::{Candidate, TaskDescription, samples},
};

fn described(mut changes: Value) -> TaskDescription {
    let private = json!({
        "scheduling": { "kind": "synchronous", "report_goal": 100 },
        "aggregator": { "kind": "uniform_mean" },
        "privacy": { "kind": "central", "epsilon": 8.0, "delta": 1e-5 },
        "stop": { "rounds": 50 },
    });
    let changed = changes.as_object_mut().expect("changes are an object");
    for (key, value) in private.as_object().expect("it is an object") {
        changed.entry(key).or_insert(value.clone());
    }
    samples::described(changes)
}

fn faults(changes: Value) -> Vec<String> {
    described(changes).validate().into_iter().map(|fault| fault.field).collect()
}

fn terms(changes: Value) -> Terms {
    let description = described(changes);
    Terms::of(&description).unwrap().unwrap()
}

fn participated(history: &History) -> Participated {
    let mut participated = Participated::default();
    participated.add(history);
    participated
}

#[test]
fn a_budget_is_enough() {
    assert_eq!(faults(json!({})), [""; 0]);
    let terms = terms(json!({}));
    assert_eq!(terms.charge.participation, Participation::AtMost { count: 50 });
    assert_eq!(terms.count_deviation, Some(5.0));
    let z = terms.charge.noise_multiplier.get();
    // The noisy sum and count together cost as much as one sum with multiplier z.
    let pair = terms.update_multiplier.powi(-2) + 10f64.powi(-2);
    assert!((pair - z.powi(-2)).abs() < 1e-12, "{terms:?}");
}

#[test]
fn a_settled_description_says_the_same() {
    let mut description = described(json!({}));
    let before = terms(json!({}));
    description.settle();
    let after = Terms::of(&description).unwrap().unwrap();
    assert_eq!((after.charge, after.update_multiplier), (before.charge, before.update_multiplier));
    assert_eq!(description.validate(), []);
    let settled = description.clone();
    description.settle();
    assert_eq!(description, settled);
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
fn sampling_is_claimed_only_of_rounds_that_keep_to_it() {
    let claim = json!({ "kind": "central", "epsilon": 2.0, "delta": 1e-5, "amplification": "poisson",
        "clipping": { "kind": "fixed", "norm": 1.0 } });
    let coins = json!({ "kind": "poisson", "sampling_rate": 0.01 });
    let changes = json!({ "privacy": claim, "selection": coins });
    assert_eq!(faults(changes.clone()), [""; 0]);
    let description = described(changes.clone());
    let policy = description.sampled().expect("it claims sampling");
    assert!(policy.keeps_draws() && description.hides_counts());
    assert_eq!(policy.updates().0, 0, "an empty draw counts");

    let mut plain = changes.clone();
    plain["privacy"]["amplification"] = json!("none");
    let plain = described(plain);
    assert!(plain.sampled().is_none() && !plain.hides_counts(), "Poisson selection does not imply the claim");

    let mut flow = changes.clone();
    flow["scheduling"] = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
    let found = described(flow).validate();
    let fault = found.iter().find(|fault| fault.field == "privacy.amplification").expect("it is refused");
    assert!(fault.message.contains("scheduling.kind draws no cohorts"), "{fault:?}");

    // A draw may contain every waiting client, no matter how small the goal is.
    let mut narrow = changes;
    narrow["grid"] = json!({ "fraction_bits": 28, "value_max": 16.0, "weight_max": 100_000 });
    assert_eq!(faults(narrow), ["grid.weight_max"]);
}

#[test]
fn the_norm_follows_the_quantile() {
    // All updates were shorter: the count is m · 1/2, the share is 1, and the norm becomes C · e^(−0.2 · 0.5).
    let next = next_clipping_norm(1.0, (0.5, 0.2), 50.0, 100, 16.0);
    assert!((next - (-0.1f64).exp()).abs() < 1e-12);
    let next = next_clipping_norm(1.0, (0.5, 0.2), -50.0, 100, 16.0);
    assert!((next - 0.1f64.exp()).abs() < 1e-12);
    assert_eq!(next_clipping_norm(10.0, (0.5, 1.0), -1e9, 100, 16.0), 16.0);
    assert!(next_clipping_norm(1.0, (0.5, 1.0), 1e9, 100, 16.0) > 0.0);
}

fn with_noise(noise: Value, others: Value) -> Value {
    let mut privacy = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": 3,
        "clipping": { "kind": "fixed", "norm": 1.0 }, "noise": noise });
    for (key, value) in others.as_object().expect("others are an object") {
        privacy[key] = value.clone();
    }
    json!({ "privacy": privacy })
}

#[test]
fn a_stream_of_noise_is_charged_once() {
    for (kind, shape) in [("tree", StreamShape::Tree), ("blt", StreamShape::Blt)] {
        let changes = with_noise(json!({ "kind": kind, "separation": 10 }), json!({}));
        assert_eq!(faults(changes.clone()), [""; 0]);
        let terms = terms(changes);
        assert_eq!(terms.charge.participation, Participation::Whole { count: 1 });
        let stream = terms.stream.unwrap();
        assert_eq!((stream.shape, stream.releases_max), (shape, 50));
        assert_eq!((stream.pattern.participations_max(), stream.pattern.separation()), (3, 10));
        let once = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": 1,
            "clipping": { "kind": "fixed", "norm": 1.0 } });
        let once = self::terms(json!({ "privacy": once }));
        assert_eq!(terms.charge.noise_multiplier, once.charge.noise_multiplier);
    }
}

#[test]
fn what_breaks_a_stream_is_refused() {
    let tree = json!({ "kind": "tree", "separation": 0 });
    let mut changes =
        with_noise(tree, json!({ "clipping": { "kind": "adaptive" }, "amplification": "poisson" }));
    changes["evaluation"] =
        json!({ "every_versions": 1, "metric": "accuracy", "central": true, "rollback_margin": 0.1 });
    let found = faults(changes);
    let expected = [
        "privacy.noise.separation",
        "privacy.clipping",
        "privacy.amplification",
        "evaluation.rollback_margin",
    ];
    assert_eq!(found, expected);
    let mut endless = with_noise(json!({ "kind": "blt" }), json!({ "noise_multiplier": 1.0 }));
    endless["stop"] = json!({ "hours": 1.0 });
    assert_eq!(faults(endless), ["stop.rounds"]);
}

#[test]
fn a_separation_is_kept_in_versions() {
    let described = described(with_noise(json!({ "kind": "tree", "separation": 10 }), json!({})));
    let allows = |accepted, accepted_from, base_version| {
        let history = History { accepted, accepted_from, ..Default::default() };
        described.privacy.allows(participated(&history), base_version, Some(50))
    };
    assert!(allows(0, None, 0) && allows(1, Some(7), 17) && allows(2, Some(7), 40));
    assert!(!allows(1, Some(7), 16) && !allows(1, Some(7), 7) && !allows(3, Some(7), 40));
}

#[test]
fn protected_examples_are_not_measured() {
    let plan = json!({
        "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16,
        "gradient_clipping": { "per_example_norm": 1.0 }, "example_privacy": { "noise_multiplier": 1.0 },
    });
    let none = json!({ "kind": "none" });
    assert_eq!(faults(json!({ "plan": plan, "privacy": none })), [""; 0]);
    let found = faults(json!({
        "plan": plan, "privacy": none, "selection": { "kind": "oort" },
        "evaluation": { "every_versions": 1, "metric": "accuracy", "federated": { "report_goal": 5 } },
    }));
    assert_eq!(found, ["evaluation.federated", "selection.kind"]);
}

#[test]
fn clients_add_noise_for_two_norms() {
    let local = |changes: Value| {
        let mut privacy = json!({ "kind": "local", "epsilon": 50.0, "delta": 1e-5, "participations_max": 2, "clipping_norm": 1.0 });
        for (key, value) in changes.as_object().expect("changes are an object") {
            privacy[key] = value.clone();
        }
        json!({ "privacy": privacy, "aggregator": { "kind": "median" } })
    };
    assert_eq!(faults(local(json!({}))), [""; 0]);
    let terms = terms(local(json!({})));
    assert_eq!(terms.charge.participation, Participation::Whole { count: 2 });
    let multiplier = terms.charge.noise_multiplier;
    assert_eq!(terms.update_multiplier, 2.0 * multiplier.get());
    let mut settled = described(local(json!({})));
    settled.settle();
    assert_eq!(Terms::of(&settled).unwrap().unwrap(), terms);
    assert_eq!(faults(local(json!({ "epsilon": 1.0 }))), ["grid.value_max"]);
    assert_eq!(faults(local(json!({ "clipping_norm": 0.0 }))), ["privacy.clipping_norm"]);
    let weighed =
        json!({ "aggregator": { "kind": "weighted_mean" }, "privacy": local(json!({}))["privacy"].clone() });
    assert_eq!(faults(weighed), ["aggregator.kind"]);
    // Every assignment is charged, even if no version contains its update.
    let history = History { starts: 2, ..Default::default() };
    assert!(!settled.privacy.allows(participated(&history), 0, Some(50)));
}

proptest! {
    #[test]
    fn norms_settle_at_the_median(seed in 0u64..100) {
        // If norms are uniform over [0, 4], their median is 2.
        let mut norm = 0.1;
        for _ in 0..200 {
            let shorter = (norm / 4.0f64).min(1.0) + (seed as f64 - 50.0) * 1e-5;
            norm = next_clipping_norm(norm, (0.5, 0.2), 100.0 * (shorter - 0.5), 100, 16.0);
        }
        prop_assert!((norm - 2.0).abs() < 0.05, "{}", norm);
    }
}

/// With privacy, two devices of one user count as one client.
#[test]
fn all_devices_of_a_user_have_one_budget_and_one_place() {
    let organisation = OrganisationId::from_random_bytes([1; 16]);
    let population = "digits".parse().unwrap();
    let [ann, bob] = ["ann", "bob"].map(|user| UserKey::of(organisation, &population, user));
    let device = |number: u8, key: UserKey, starts: u64, accepted: u64, is_busy: bool| Waiting {
        candidate: Candidate {
            client_id: ClientId::from_random_bytes([number; 16]),
            example_count: 10,
            attributes: [].into(),
            sdk_version: "1.0.0".into(),
        }
        .into(),
        history: History { starts, accepted: 0, ..History::default() },
        user: Some(User { key, participated: Participated { accepted, ..Participated::default() }, is_busy }),
        token: None,
    };
    let round = Round {
        id: RoundId::from_random_bytes([1; 16]),
        task_id: TaskId::from_random_bytes([1; 16]),
        number: 1,
        purpose: Purpose::Training,
        base_version: 0,
        phase: Phase::Selecting { since: Timestamp(0) },
    };
    let limited = |kind: &str| match kind {
        "none" => described(json!({ "privacy": { "kind": "none" } })),
        _ => described(
            json!({ "privacy": { "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": 2 } }),
        ),
    };
    let eligible = |kind: &str, pool: &[Waiting]| -> Vec<ClientId> {
        let left = limited(kind).eligible(pool.to_vec(), &round, Timestamp(0));
        left.iter().map(|one| one.candidate.client_id).collect()
    };
    let id = |number: u8| ClientId::from_random_bytes([number; 16]);
    let pool = [
        device(1, ann, 3, 1, false),
        device(2, ann, 1, 1, false),
        device(3, bob, 0, 0, false),
        device(4, ann, 1, 1, false),
    ];
    assert_eq!(eligible("central", &pool), [id(2), id(3)], "the device that had the fewest assignments");
    assert_eq!(eligible("none", &pool).len(), 4);
    let spent = [device(1, ann, 0, 2, false), device(3, bob, 0, 1, false)];
    assert_eq!(eligible("central", &spent), [id(3)], "the rounds of the user's other devices count");
    let busy = [device(1, ann, 0, 0, true), device(3, bob, 0, 0, false)];
    assert_eq!(eligible("central", &busy), [id(3)], "another device is taking part");
}
