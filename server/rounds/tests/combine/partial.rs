//! The sums of edge aggregators, added to the sum of the updates that the coordinator has.

use folkmoot_aggregation::Measurement;
use folkmoot_rounds::combine::{PartialSum, Weighed};
use folkmoot_storage::HeldUpdate;

use super::*;

const ROUND: [u8; 16] = [9; 16];

/// Receives an update as an upload does, with a weight of its own, and adds it to the running sum.
fn receive(ingest: &Ingest, number: u8, values: &[f32], description: &TaskDescription) -> AcceptedUpdate {
    let round = RoundId::from_random_bytes(ROUND);
    let weight = u64::from(number) * 7;
    let update = AcceptedUpdate { weight, ..arrive(ingest, round, number, values) };
    let aggregator = &description.aggregator;
    let sum = ingest.sum_of(round, description.grid, values.len(), aggregator.measurement());
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(sum.fold(update.assignment_id, aggregator.arrival_factor(weight), 0, &bytes));
    update
}

fn making(
    description: &TaskDescription,
    accepted: Vec<AcceptedUpdate>,
    partial: Option<PartialSum>,
    values: usize,
) -> Making {
    let reports = accepted.iter().map(|update| (update.weight, update.metrics.step_count));
    Making {
        attenuations: description.work_factors(reports),
        description: description.clone(),
        round_id: RoundId::from_random_bytes(ROUND),
        accepted,
        partial,
        newest: Bytes::from(vec![0; values * 4]),
        bases: Bases::default(),
        finalizer_state: None,
        commit: Commit { number: 1, ..Commit::default() },
        private: None,
        masked: None,
        parts: None,
        own: Own::default(),
        members: Vec::new(),
        examples: None,
    }
}

/// Makes a version of all updates at one place, and one whose updates are spread over the coordinator and two aggregators.
fn versions(description: &TaskDescription, updates: &[Vec<f32>]) -> [Vec<f32>; 2] {
    let values = updates[0].len();
    let whole = Ingest::new(RoundLog::in_memory());
    let all: Vec<_> =
        (1..).zip(updates).map(|(number, update)| receive(&whole, number, update, description)).collect();
    let made = making(description, all, None, values).make(&whole, &Noises::default()).unwrap();

    let places = [(); 3].map(|()| Ingest::new(RoundLog::in_memory()));
    let mut accepted = Vec::new();
    for (number, update) in (1..).zip(updates) {
        let place = usize::from(number) % places.len();
        let mut one = receive(&places[place], number, update, description);
        if place > 0 {
            let round = RoundId::from_random_bytes(ROUND);
            let measurement = description.aggregator.measurement();
            let sum = places[place].sum_of(round, description.grid, values, measurement);
            let extent = sum.extent_of(one.assignment_id).unwrap_or_default();
            assert_eq!(
                extent.square > 0.0,
                measurement == Measurement::Extents,
                "sizes are measured if they matter"
            );
            one.held = Some(HeldUpdate { by: place.to_string(), extent });
        }
        accepted.push(one);
    }
    let reports = accepted.iter().map(|update| (update.weight, update.metrics.step_count));
    let attenuations = description.work_factors(reports);
    let round = RoundId::from_random_bytes(ROUND);
    let asked = Weighed::of(&places[0], description, round, (&accepted, &attenuations), values).unwrap();
    let sum_of = |place: usize| {
        let held = accepted.iter().zip(&asked.factors);
        let held =
            held.filter(|(update, _)| update.held.as_ref().is_some_and(|held| held.by == place.to_string()));
        let held: Vec<_> = held.map(|(update, factor)| (update.assignment_id, *factor)).collect();
        let ingest = &places[place];
        let sum = ingest.sum_of(round, description.grid, values, description.aggregator.measurement());
        sum.settle(ingest.log(), &held).unwrap();
        let bytes = PartialSum::Plain(sum.values()).encode();
        PartialSum::decode(&bytes, values, false).unwrap()
    };
    let mut partial = sum_of(1);
    partial.add(&sum_of(2));
    let spread = making(description, accepted, Some(partial), values);
    // A retry after a failed commit makes the same version.
    let first = spread.make(&places[0], &Noises::default()).unwrap();
    let again = spread.make(&places[0], &Noises::default()).unwrap();
    assert_eq!(first.weights, again.weights);
    [weights(&made), weights(&first)]
}

#[test]
fn a_version_of_partial_sums_is_that_of_all_updates_bit_for_bit() {
    let mut step = SplitMix(11);
    let mut updates: Vec<Vec<f32>> =
        (0..8).map(|_| (0..50).map(|_| step.normal() as f32).collect()).collect();
    // An update that the default rule bounds.
    updates[4].iter_mut().for_each(|value| *value *= 3.0);
    for kind in ["bounded_mean", "weighted_mean", "uniform_mean"] {
        let description = description(json!({ "kind": kind }));
        assert!(description.sums_at_the_edge(), "{kind}");
        let [whole, spread] = versions(&description, &updates);
        assert_eq!(whole, spread, "{kind}");
    }
}

#[test]
fn what_needs_single_updates_is_not_summed_at_the_edge() {
    let task = |change: Value| {
        let mut text = serde_json::to_value(description(json!({ "kind": "weighted_mean" }))).unwrap();
        change.as_object().unwrap().iter().for_each(|(key, value)| text[key] = value.clone());
        serde_json::from_value::<TaskDescription>(text).unwrap().sums_at_the_edge()
    };
    assert!(task(json!({})));
    assert!(task(json!({ "protection": { "secure_aggregation": {} } })));
    for (name, change) in [
        ("a rule that compares", json!({ "aggregator": { "kind": "median" } })),
        ("scores", json!({ "anomaly_scores": true })),
        ("a flow", json!({ "scheduling": { "kind": "buffered", "buffer_goal": 5, "concurrency": 10 } })),
        (
            "an adaptive norm",
            json!({ "privacy": {
                "kind": "central", "epsilon": 4.0, "delta": 1e-5,
                "clipping": { "kind": "adaptive", "initial_norm": 1.0, "quantile": 0.5, "rate": 0.2 },
            } }),
        ),
    ] {
        assert!(!task(change), "{name}");
    }
}
