//! Properties of every aggregator, for arbitrary updates.

use std::convert::Infallible;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const LENGTH: usize = 700;

fn choice(json: serde_json::Value) -> AggregatorChoice {
    serde_json::from_value(json).unwrap()
}

fn choices() -> Vec<AggregatorChoice> {
    [
        json!({ "kind": "weighted_mean" }),
        json!({ "kind": "bounded_mean" }),
        json!({ "kind": "bounded_mean", "influence_max": 1.5 }),
        json!({ "kind": "uniform_mean" }),
        json!({ "kind": "median" }),
        json!({ "kind": "trimmed_mean", "trim_share": 0.2 }),
        json!({ "kind": "krum", "byzantine_share": 0.2 }),
        json!({ "kind": "multi_krum", "byzantine_share": 0.2 }),
        json!({ "kind": "multi_krum", "byzantine_share": 0.2, "chosen": 2 }),
        json!({ "kind": "norm_bound", "norm_max": 4.0 }),
        json!({ "kind": "geometric_median" }),
        json!({ "kind": "geometric_median", "smoothing": 20.0, "iterations": 2 }),
        json!({ "kind": "bulyan", "byzantine_share": 0.1 }),
        json!({ "kind": "centred_clipping", "norm_max": 4.0 }),
        json!({ "kind": "centred_clipping", "norm_max": 1.5, "iterations": 5 }),
        json!({ "kind": "sign_guard" }),
        json!({ "kind": "sign_guard", "norm_ratio_max": 1.05, "coordinate_share": 1.0 }),
        json!({ "kind": "fools_gold", "norm_max": 4.0 }),
        json!({ "kind": "fools_gold", "norm_max": 40.0, "confidence": 0.1 }),
        json!({ "kind": "flame" }),
        json!({ "kind": "flame", "noise_factor": 0.0 }),
        json!({ "kind": "fed_nova" }),
        json!({ "kind": "q_fed_avg", "lipschitz": 0.01 }),
        json!({ "kind": "q_fed_avg", "q": 0.0, "lipschitz": 10.0 }),
        json!({ "kind": "term" }),
        json!({ "kind": "term", "tilt": -3.0 }),
    ]
    .map(choice)
    .to_vec()
}

fn tile(updates: &[Vec<f32>], from: usize, to: usize) -> Vec<&[f32]> {
    updates.iter().map(|update| &update[from..to]).collect()
}

/// Returns the bounds of the tiles that end at these cuts and at `length`.
fn tiles(cuts: &[usize], length: usize) -> Vec<(usize, usize)> {
    let ends = cuts.iter().copied().chain([length]);
    ends.scan(0, |start, end| Some((std::mem::replace(start, end), end))).collect()
}

/// Aggregates as a driver does, in tiles that end at the cuts.
fn aggregate(choice: &AggregatorChoice, updates: &[Vec<f32>], cuts: &[usize]) -> Vec<f64> {
    aggregate_prepared(Preparation::None, choice, updates, cuts)
}

fn aggregate_prepared(
    preparation: Preparation,
    choice: &AggregatorChoice,
    updates: &[Vec<f32>],
    cuts: &[usize],
) -> Vec<f64> {
    let length = updates.first().map_or(0, Vec::len);
    let tiles = tiles(cuts, length);
    let weights: Vec<u64> = (1..=updates.len() as u64).collect();
    let attenuations: Vec<f64> = weights.iter().map(|weight| 1.0 / (*weight as f64).sqrt()).collect();
    let losses = weights.iter().map(|weight| 0.5 + (*weight as f64).sin().abs()).collect();
    let training = LocalTraining { losses, learning_rate: Some(0.1) };
    let mut passes = 0;
    let combination =
        choice.measured_combination(preparation, 1, &weights, &attenuations, &training, |measured| {
            passes += 1;
            tiles.iter().for_each(|(from, to)| measured.add_tile(&tile(updates, *from, *to)));
            Ok::<_, Infallible>(())
        });
    let combination = combination.expect("measuring cannot fail");
    assert_eq!(passes, choice.passes(preparation));
    let mut out = vec![f64::NAN; length];
    tiles
        .iter()
        .for_each(|(from, to)| combination.combine(*from, &tile(updates, *from, *to), &mut out[*from..*to]));
    out
}

/// Returns the factors of a rule that uses losses, for updates with the weights 1, 2 …
fn loss_factors(rule: serde_json::Value, losses: &[f64], updates: &[Vec<f32>]) -> Vec<f64> {
    let choice = choice(rule);
    let weights: Vec<u64> = (1..=updates.len() as u64).collect();
    let mut measured = Measured::new(choice.measurement(), updates.len(), 0);
    measured.add_tile(&tile(updates, 0, LENGTH));
    let training = LocalTraining { losses: losses.to_vec(), learning_rate: Some(0.1) };
    choice.aggregator().loss_factors(&weights, &training, &measured).expect("the updates have weights")
}

fn updates(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Vec<f32>>> {
    prop::collection::vec(prop::collection::vec(-1.0f32..1.0, LENGTH), count)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tiles_of_whole_blocks_never_show(updates in updates(1..12), cut in 0usize..=2, other in 0usize..=2) {
        let cuts = [cut.min(other) * BLOCK, cut.max(other) * BLOCK];
        for choice in choices() {
            prop_assert_eq!(bits(&aggregate(&choice, &updates, &cuts)), bits(&aggregate(&choice, &updates, &[])));
        }
    }

    #[test]
    fn other_tiles_show_in_the_last_bits_of_what_is_measured_alone(updates in updates(6), cut in 0usize..=LENGTH) {
        for choice in choices() {
            let (whole, cut) = (aggregate(&choice, &updates, &[]), aggregate(&choice, &updates, &[cut]));
            if choice.passes(Preparation::None) == 0 {
                prop_assert_eq!(bits(&whole), bits(&cut));
            }
            prop_assert!(whole.iter().zip(&cut).all(|(one, other)| (one - other).abs() < 1e-12));
        }
    }

    #[test]
    fn measurements_are_the_definitions(updates in updates(0..71)) {
        let mut norms = Norms::new(updates.len());
        let mut distances = Distances::new(updates.len());
        norms.add_tile(&tile(&updates, 0, LENGTH));
        distances.add_tile(&tile(&updates, 0, LENGTH));
        let squares = |one: &[f32], other: &[f32]| -> f64 {
            one.iter().zip(other).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
        };
        for (index, one) in updates.iter().enumerate() {
            prop_assert!((norms.squared(index) / squares(one, &[0.0; LENGTH]) - 1.0).abs() < 1e-12);
            for (other_index, other) in updates.iter().enumerate().filter(|(other, _)| *other != index) {
                prop_assert!((distances.squared(index, other_index) / squares(one, other) - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_order_of_the_updates_never_shows_in_coordinate_rules(updates in updates(1..12), rotation in 0usize..12) {
        let mut others = updates.clone();
        others.rotate_left(rotation % updates.len());
        others.reverse();
        for choice in choices().into_iter().filter(|choice| choice.passes(Preparation::None) == 0) {
            let combination = choice.combination(&[1; 12], &[1.0; 12], &Measured::None);
            if let Combination::PerCoordinate(_) = combination {
                prop_assert_eq!(bits(&aggregate(&choice, &updates, &[])), bits(&aggregate(&choice, &others, &[])));
            }
        }
    }

    #[test]
    fn one_hostile_update_leaves_the_median_within_the_honest_range(
        honest in updates(2..8),
        hostile in prop::collection::vec(-1e30f32..1e30, LENGTH),
    ) {
        let mut all = honest.clone();
        all.push(hostile);
        for (index, median) in aggregate(&AggregatorChoice::Median, &all, &[]).into_iter().enumerate() {
            let values = || honest.iter().map(|update| f64::from(update[index]));
            prop_assert!(median >= values().fold(f64::INFINITY, f64::min));
            prop_assert!(median <= values().fold(f64::NEG_INFINITY, f64::max));
        }
    }

    #[test]
    fn krum_leaves_out_one_update_far_away(honest in updates(4..10), at in 0usize..10, distance in 1e2f32..1e6) {
        let mut all = honest.clone();
        let at = at % all.len();
        all.insert(at, vec![distance; LENGTH]);
        let share = 1.5 / all.len() as f64;
        for kind in ["krum", "multi_krum"] {
            let out = aggregate(&choice(json!({ "kind": kind, "byzantine_share": share })), &all, &[]);
            prop_assert!(out.iter().all(|value| value.abs() <= 1.0));
        }
    }

    /// The median of the selected values is in the honest range, and each value in the mean is as close to it as an honest
    /// one.
    #[test]
    fn hostile_updates_move_no_coordinate_of_bulyan_beyond_twice_the_honest_range(
        honest in updates(9),
        hostile in prop::collection::vec(prop::collection::vec(-2.0f32..2.0, LENGTH), 2),
        scale in prop::sample::select(vec![0.1f32, 0.5, 1.0, 1e6]),
    ) {
        let hostile = hostile.into_iter().map(|update| update.iter().map(|value| value * scale).collect());
        let all: Vec<Vec<f32>> = hostile.chain(honest.iter().cloned()).collect();
        let out = aggregate(&choice(json!({ "kind": "bulyan", "byzantine_share": 0.2 })), &all, &[]);
        for (index, value) in out.into_iter().enumerate() {
            let values = || honest.iter().map(|update| f64::from(update[index]));
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
            let range = most - least;
            prop_assert!((least - range..=most + range).contains(&value), "{} {} {}", value, least, most);
        }
    }

    /// The bound of `CentredClipping::influence`, for hostile updates of every size.
    #[test]
    fn one_update_moves_the_result_of_centred_clipping_by_no_more_than_its_influence(
        honest in updates(2..8),
        one in prop::collection::vec(-1.0f32..1.0, LENGTH),
        other in prop::collection::vec(-1.0f32..1.0, LENGTH),
        (scale, norm_max, iterations) in (prop::sample::select(vec![0.01f32, 1.0, 1e6]), 0.1f64..50.0, 1u32..6),
    ) {
        let clipping = CentredClipping { norm_max, iterations };
        let with = |update: &[f32]| {
            let scaled: Vec<f32> = update.iter().map(|value| value * scale).collect();
            let all: Vec<Vec<f32>> = honest.iter().cloned().chain([scaled]).collect();
            aggregate(&AggregatorChoice::CentredClipping(clipping), &all, &[])
        };
        let moved: f64 = with(&one).iter().zip(with(&other)).map(|(one, other)| (one - other).powi(2)).sum();
        let clients = (honest.len() + 1) as f64;
        prop_assert!(moved.sqrt() <= clipping.influence() / clients * (1.0 + 1e-9), "{}", moved.sqrt());
    }

    #[test]
    fn without_a_tilt_and_with_equal_losses_fair_rules_are_the_weighted_mean(updates in updates(1..8), loss in 0.0f64..50.0) {
        let mean = aggregate(&AggregatorChoice::WeightedMean, &updates, &[]);
        for neutral in [json!({ "kind": "q_fed_avg", "q": 0.0 }), json!({ "kind": "term", "tilt": 0.0 })] {
            prop_assert_eq!(bits(&aggregate(&choice(neutral), &updates, &[])), bits(&mean));
        }
        let factors = loss_factors(json!({ "kind": "term", "tilt": 7.0 }), &vec![loss; updates.len()], &updates);
        prop_assert!(factors.iter().all(|factor| (factor - 1.0).abs() < 1e-12), "{:?}", factors);
    }

    #[test]
    fn a_client_with_a_larger_loss_counts_more_unless_the_tilt_is_negative(
        updates in updates(2..8),
        losses in prop::collection::vec(0.01f64..20.0, 8),
        (q, tilt, more) in (0.01f64..10.0, 0.01f64..3.0, 1.01f64..5.0),
    ) {
        let mut raised = losses.clone();
        raised[0] *= more;
        for (rule, grows) in [
            (json!({ "kind": "q_fed_avg", "q": q }), true),
            (json!({ "kind": "term", "tilt": tilt }), true),
            (json!({ "kind": "term", "tilt": -tilt }), false),
        ] {
            // The factor of the first update, relative to the factor of the second.
            let share = |losses: &[f64]| {
                let factors = loss_factors(rule.clone(), &losses[..updates.len()], &updates);
                factors[0].ln() - factors[1].ln()
            };
            let grown = share(&raised) - share(&losses);
            prop_assert!(if grows { grown > 0.0 } else { grown < 0.0 }, "{} {}", rule, grown);
        }
    }

    /// The tilt moves weight from one update to another. q-FedAvg also shortens the step, and never makes it longer.
    #[test]
    fn fair_rules_take_no_longer_steps_than_a_mean(
        updates in updates(1..8),
        losses in prop::collection::vec(0.0f64..1e30, 8),
        (q, tilt) in (0.0f64..100.0, -100.0f64..100.0),
    ) {
        let losses = &losses[..updates.len()];
        let mean = |factors: Vec<f64>| {
            let weights = (1..=updates.len()).map(|weight| weight as f64);
            weights.clone().zip(&factors).map(|(weight, factor)| weight * factor).sum::<f64>() / weights.sum::<f64>()
        };
        let tilted = mean(loss_factors(json!({ "kind": "term", "tilt": tilt }), losses, &updates));
        prop_assert!((tilted - 1.0).abs() < 1e-12, "{}", tilted);
        let shortened = mean(loss_factors(json!({ "kind": "q_fed_avg", "q": q }), losses, &updates));
        prop_assert!((0.0..=1.0 + 1e-12).contains(&shortened), "{}", shortened);
    }

    #[test]
    fn tiles_of_whole_blocks_never_show_in_prepared_updates(updates in updates(1..9), cut in 0usize..=2, size in 2u32..5) {
        let mixing = Preparation::Mixing(Mixing { byzantine_share: 0.3 });
        for preparation in [mixing, Preparation::Bucketing(Bucketing { bucket_size: size })] {
            for choice in choices() {
                let prepared = |cuts: &[usize]| bits(&aggregate_prepared(preparation, &choice, &updates, cuts));
                prop_assert_eq!(prepared(&[cut * BLOCK]), prepared(&[]));
            }
        }
    }

    /// With n ≥ 2·2 + 1 updates, at most one of at least three buckets of two has the hostile update.
    #[test]
    fn prepared_medians_leave_out_one_update_far_away(honest in updates(4..10), distance in 1e2f32..1e6) {
        let mut all = honest.clone();
        all.push(vec![distance; LENGTH]);
        let mixing = Preparation::Mixing(Mixing { byzantine_share: 1.5 / all.len() as f64 });
        for preparation in [mixing, Preparation::Bucketing(Bucketing::default())] {
            for value in aggregate_prepared(preparation, &AggregatorChoice::Median, &all, &[]) {
                prop_assert!(value.abs() <= 1.0, "{}", value);
            }
        }
    }

    #[test]
    fn buckets_of_all_updates_have_one_mean(updates in updates(1..9)) {
        let preparation = Preparation::Bucketing(Bucketing { bucket_size: 9 });
        for (index, value) in aggregate_prepared(preparation, &AggregatorChoice::Median, &updates, &[]).iter().enumerate() {
            let mean = updates.iter().map(|update| f64::from(update[index])).sum::<f64>() / updates.len() as f64;
            prop_assert!((value - mean).abs() < 1e-7, "{} {}", value, mean);
        }
    }

    #[test]
    fn an_iteration_of_the_geometric_median_never_adds_to_the_distances(updates in updates(3..9)) {
        let distances = |point: Vec<f64>| -> f64 {
            let distance = |update: &Vec<f32>| -> f64 {
                update.iter().zip(&point).map(|(value, point)| (f64::from(*value) - point).powi(2)).sum::<f64>().sqrt()
            };
            updates.iter().map(distance).sum()
        };
        let medians = (1..6).map(|iterations| json!({ "kind": "geometric_median", "iterations": iterations }));
        let sums: Vec<f64> = [json!({ "kind": "median" })].into_iter().chain(medians)
            .map(|one| distances(aggregate(&choice(one), &updates, &[])))
            .collect();
        prop_assert!(sums.is_sorted_by(|before, after| *after <= before * (1.0 + 1e-12)), "{:?}", sums);
    }

    /// Each step of a hostile update adds at most 1 to the sum of weighted updates, and each of n honest ones has a weight
    /// of at least 1 / 2√d while the point is in the honest range.
    #[test]
    fn one_update_far_away_hardly_moves_the_geometric_median(honest in updates(4..10), distance in 1e2f32..1e6) {
        let mut all = honest.clone();
        all.push(vec![distance; LENGTH]);
        for median in aggregate(&choice(json!({ "kind": "geometric_median" })), &all, &[]) {
            prop_assert!(median.abs() <= 2.0, "{}", median);
        }
    }
}

#[test]
fn few_updates_and_strange_values_do_not_panic() {
    let strange = [f32::NAN, f32::INFINITY, -f32::INFINITY, 0.0, f32::MAX];
    for choice in choices() {
        assert_eq!(aggregate(&choice, &[], &[]), [] as [f64; 0]);
        for count in 1..=4 {
            let alike = vec![vec![1.0f32; 3]; count];
            let out = aggregate(&choice, &alike, &[1]);
            // The noise of FLAME has a deviation of 0.0017.
            assert!(out.iter().all(|value| *value > 0.5 && *value <= 1.01), "{choice:?} {count}: {out:?}");
            let _ = aggregate(&choice, &vec![strange.to_vec(); count], &[]);
        }
    }
}

#[test]
fn the_factor_of_a_streaming_choice_is_known_from_the_update_alone() {
    for choice in choices().into_iter().filter(AggregatorChoice::is_streaming) {
        let factors = |weights: &[u64], attenuations: &[f64]| match choice.combination(
            weights,
            attenuations,
            &Measured::None,
        ) {
            Combination::Mean { factors, .. } => factors,
            _ => unreachable!("{choice:?} is streaming"),
        };
        let together = factors(&[3, 8], &[0.5, 1.0]);
        assert_eq!(together, [factors(&[3], &[0.5])[0], factors(&[8], &[1.0])[0]]);
    }
    let streaming = choices().into_iter().take_while(AggregatorChoice::is_streaming).count();
    assert_eq!(streaming, 4);
    assert!(!choices()[streaming..].iter().any(AggregatorChoice::is_streaming));
}

#[test]
fn what_is_written_is_read_again_and_a_strange_field_is_refused() {
    assert_eq!(AggregatorChoice::default(), choice(json!({ "kind": "bounded_mean", "influence_max": 3.0 })));
    for choice in choices() {
        let json = serde_json::to_value(&choice).unwrap();
        assert_eq!(serde_json::from_value::<AggregatorChoice>(json.clone()).unwrap(), choice);
        let mut strange = json;
        strange["shares"] = 0.1.into();
        assert!(serde_json::from_value::<AggregatorChoice>(strange).is_err(), "{choice:?}");
    }
    assert!(serde_json::from_value::<AggregatorChoice>(json!({ "kind": "trimmed_mean" })).is_err());
}

#[test]
fn good_choices_have_no_faults_and_bad_shares_have_one() {
    let faults = |choice: &AggregatorChoice| {
        let mut faults = Vec::new();
        choice.validate(5, 20, &mut faults);
        faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    choices().into_iter().for_each(|choice| assert!(faults(&choice).is_empty(), "{choice:?}"));
    for share in [-0.1, 0.5, 1.0] {
        let bad = |kind: &str, field: &str| faults(&choice(json!({ "kind": kind, field: share })));
        assert_eq!(bad("trimmed_mean", "trim_share"), ["aggregator.trim_share"]);
        assert_eq!(bad("krum", "byzantine_share"), ["aggregator.byzantine_share"]);
        assert_eq!(bad("multi_krum", "byzantine_share"), ["aggregator.byzantine_share"]);
        assert_eq!(bad("bulyan", "byzantine_share"), ["aggregator.byzantine_share"]);
    }
}
