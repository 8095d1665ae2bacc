use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

#[test]
fn every_kind_is_read_written_and_valid() {
    for choice in every_kind() {
        let mut faults = Vec::new();
        choice.validate(&mut faults);
        assert_eq!(faults, [], "{choice:?}");
        let json = serde_json::to_string(&choice).unwrap();
        assert_eq!(self::choice(&json), choice);
        let extended = json.replacen('{', r#"{"unknown":1,"#, 1);
        assert!(serde_json::from_str::<SelectionChoice>(&extended).is_err(), "{extended}");
    }
    assert_eq!(serde_json::to_string(&SelectionChoice::default()).unwrap(), r#"{"kind":"uniform"}"#);
}

#[test]
fn every_fault_has_its_path() {
    let bad = [
        (r#"{"kind":"poisson","sampling_rate":0}"#, vec!["sampling_rate"]),
        (r#"{"kind":"poisson","sampling_rate":1.5}"#, vec!["sampling_rate"]),
        (r#"{"kind":"stratified","attribute":""}"#, vec!["attribute"]),
        (
            r#"{"kind":"oort","exploration_share":1.1,"exploration_share_min":-1,"cut_off_share":2,
                "exploration_decay":0,"utility_quantile_max":0,"preferred_seconds":0,"penalty_exponent":-1,
                "participations_max":0}"#,
            vec![
                "exploration_share",
                "exploration_share_min",
                "cut_off_share",
                "exploration_decay",
                "utility_quantile_max",
                "preferred_seconds",
                "penalty_exponent",
                "participations_max",
            ],
        ),
        (r#"{"kind":"speed_tiers","tiers":0,"profiling_share":2}"#, vec!["tiers", "profiling_share"]),
        (
            r#"{"kind":"speed_tiers","tiers":2,"policy":{"weights":[1]},"credits":{"draws":[1,1],"rounds":3}}"#,
            vec!["policy.weights", "credits.draws"],
        ),
        (r#"{"kind":"speed_tiers","tiers":1,"credits":{"draws":[1],"rounds":0}}"#, vec!["credits.rounds"]),
    ];
    for (json, expected) in bad {
        let mut faults = Vec::new();
        choice(json).validate(&mut faults);
        let fields: Vec<String> = faults.into_iter().map(|fault| fault.field).collect();
        let expected: Vec<String> = expected.into_iter().map(|field| format!("selection.{field}")).collect();
        assert_eq!(fields, expected, "{json}");
    }
}

#[test]
fn only_coins_size_a_cohort() {
    let kinds = every_kind();
    let sizes: Vec<usize> = (0..kinds.len()).filter(|kind| kinds[*kind].sizes_cohort()).collect();
    assert_eq!(sizes, [1]);
}

#[test]
fn the_uniform_draw_is_that_of_the_first_release() {
    let waiting = clients(20);
    let mut reference = ChaCha8Rng::seed_from_u64(7);
    let mut ids: Vec<ClientId> = waiting.iter().map(|waiting| waiting.candidate.client_id).collect();
    for index in 0..6 {
        let other = reference.random_range(index..ids.len());
        ids.swap(index, other);
    }
    ids.truncate(6);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    assert_eq!(SelectionChoice::Uniform.draw(&round(&waiting, 6, 1), &mut rng), ids);
    assert_eq!(rng.next_u64(), reference.next_u64(), "no extra random number is used");
    // A seed must keep its meaning: these ids come from the first release.
    assert_eq!(ids.iter().map(number).collect::<Vec<_>>(), FIRST_RELEASE);
}

const FIRST_RELEASE: [usize; 6] = [2, 3, 5, 0, 8, 15];

/// A pool in which some clients have trained, with every unusual kind of history.
fn pool() -> impl Strategy<Value = Vec<Waiting>> {
    let one = (any::<bool>(), -1.0f64..4.0, 0u64..5000, prop::collection::vec(0u64..40, 0..5), 0u64..1000);
    prop::collection::vec(one, 0..40).prop_map(|clients| {
        let make = |(number, (has_trained, loss, time, rounds, examples)): (
            usize,
            (bool, f64, u64, Vec<u64>, u64),
        )| {
            let number = number as u16;
            let mut one = if has_trained { trained(number, loss, time, &rounds) } else { client(number) };
            std::sync::Arc::make_mut(&mut one.candidate).example_count = examples;
            one.history.example_count = examples;
            if examples % 5 == 0 {
                std::sync::Arc::make_mut(&mut one.candidate).attributes.clear();
                one.history.mean_loss = None;
            }
            one
        };
        clients.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #[test]
    fn a_draw_keeps_the_laws(waiting in pool(), count in 0usize..50, round_number in 0u64..60, seed: u64) {
        for choice in every_kind() {
            let draw = round(&waiting, count, round_number);
            let drawn = choice.draw(&draw, &mut ChaCha8Rng::seed_from_u64(seed));
            prop_assert!(choice.sizes_cohort() || drawn.len() <= count, "{:?}", choice);
            let places: BTreeSet<usize> = drawn.iter().map(number).collect();
            prop_assert_eq!(places.len(), drawn.len(), "no client twice: {:?}", choice);
            prop_assert!(places.iter().all(|place| *place < waiting.len()), "{:?}", choice);
            let again = choice.draw(&draw, &mut ChaCha8Rng::seed_from_u64(seed));
            prop_assert_eq!(&drawn, &again, "the same seed gives the same draw: {:?}", choice);
            let all = count.min(waiting.len());
            match choice {
                SelectionChoice::Poisson(_) => {}
                SelectionChoice::FixedSize => {
                    prop_assert_eq!(drawn.len(), if count > waiting.len() { 0 } else { count });
                }
                SelectionChoice::Oort(oort) => {
                    let cap = oort.participations_max.unwrap_or(u64::MAX);
                    let open = waiting.iter().filter(|waiting| waiting.history.starts < cap).count();
                    prop_assert_eq!(drawn.len(), count.min(open));
                    prop_assert!(places.iter().all(|place| waiting[*place].history.starts < cap));
                }
                _ => prop_assert_eq!(drawn.len(), all, "{:?}", choice),
            }
        }
    }
}
