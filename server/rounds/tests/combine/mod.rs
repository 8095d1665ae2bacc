//! Tests of the next version's weights under rules that read updates from the round log, with numbers from numpy.

mod momentum;
mod partial;

use bytes::Bytes;
use folkmoot_aggregation::{
    AggregatorChoice, Bucketing, LocalTraining, Mixing, Preparation, finalizer::Commit,
};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{
    AssignmentId, RoundId, Timestamp, UpdateDigest,
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{
    combine::{Bases, Made, Making, Own},
    ingest::Ingest,
    noise::Noises,
};
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::encode_update;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// One case of `server/aggregation/tests/data`, whose README describes the rules.
#[derive(Deserialize)]
struct Case {
    name: String,
    n: usize,
    f: usize,
    vectors: Vec<Vec<f32>>,
    expected: Value,
}

impl Case {
    fn expected(&self, pointer: &str) -> Vec<f64> {
        let values = self.expected.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone();
        serde_json::from_value(values).unwrap()
    }

    /// Returns a share that yields f.
    fn share(&self) -> f64 {
        (self.f as f64 + 0.5) / self.n as f64
    }
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../../aggregation/tests/data/robust_cases.json");
    serde_json::from_str::<File>(text).unwrap().cases
}

fn description(aggregator: Value) -> TaskDescription {
    let description = json!({
        "name": "digits",
        "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 16,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 7 },
        "aggregator": aggregator,
        "stop": { "rounds": 30 },
    });
    serde_json::from_value(description).unwrap()
}

/// Writes an update to the round log, as an upload does. The client made `number` steps, and its mean loss is
/// `number` / 4.
fn arrive(ingest: &Ingest, round: RoundId, number: u8, values: &[f32]) -> AcceptedUpdate {
    let id = AssignmentId::from_random_bytes([number; 16]);
    let header = UpdateHeader {
        assignment_id: id,
        schema_digest: [0; 32],
        base_version: 0,
        weight: 40,
        metrics: UpdateMetrics {
            example_count: 4,
            loss_sum: number.into(),
            step_count: number.into(),
            ..UpdateMetrics::default()
        },
        element_count: values.len() as u64,
        is_compressed: false,
    };
    let update = encode_update(&header, values);
    let mut segment = ingest.log().open(round, id).unwrap();
    segment.append(&update).unwrap();
    segment.sync().unwrap();
    AcceptedUpdate {
        assignment_id: id,
        round_id: round,
        base_version: 0,
        digest: UpdateDigest::of(&update),
        bytes: update.len() as u64,
        codec: "float32".into(),
        weight: header.weight,
        metrics: header.metrics,
        accepted_at: Timestamp(1),
        place: None,
        held: None,
    }
}

/// Returns the version that these updates produce from weights of 0: its weights are the aggregate.
fn version(description: TaskDescription, updates: &[Vec<f32>]) -> Made {
    let newest = Bytes::from(vec![0; size_of_val(updates[0].as_slice())]);
    next_version(description, updates, newest, None, 1)
}

/// Returns the version with this number, which these updates produce from the newest weights and the finalizer's state.
fn next_version(
    description: TaskDescription,
    updates: &[Vec<f32>],
    newest: Bytes,
    finalizer_state: Option<Bytes>,
    number: u64,
) -> Made {
    let (ingest, round_id) = (Ingest::new(RoundLog::in_memory()), RoundId::from_random_bytes([9; 16]));
    let accepted: Vec<AcceptedUpdate> =
        (1..).zip(updates).map(|(number, values)| arrive(&ingest, round_id, number, values)).collect();
    let reports = accepted.iter().map(|update| (update.weight, update.metrics.step_count));
    let making = Making {
        attenuations: description.work_factors(reports),
        description,
        round_id,
        accepted,
        partial: None,
        newest,
        bases: Bases::default(),
        finalizer_state,
        commit: Commit { number, ..Commit::default() },
        private: None,
        masked: None,
        parts: None,
        own: Own::default(),
        members: Vec::new(),
        examples: None,
    };
    making.make(&ingest, &Noises::default()).unwrap()
}

fn weights(made: &Made) -> Vec<f32> {
    made.weights.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn expect_aggregate(case: &Case, aggregator: &Value, pointer: &str) {
    expect_version(case, description(aggregator.clone()), pointer);
}

fn expect_version(case: &Case, description: TaskDescription, pointer: &str) {
    let aggregator = description.aggregator.clone();
    let made = version(description, &case.vectors);
    let found = weights(&made);
    let expected = case.expected(pointer);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let distance = (f64::from(*found) - expected).abs();
        assert!(distance <= 1e-5, "{}: {aggregator:?}: {found} is not {expected}", case.name);
    }
}

#[test]
fn a_version_under_a_robust_rule_is_numpys() {
    for case in cases() {
        let krum = json!({ "kind": "krum", "byzantine_share": case.share() });
        expect_aggregate(&case, &krum, "/krum/vector");
        let bulyan = json!({ "kind": "bulyan", "byzantine_share": case.share() });
        expect_aggregate(&case, &bulyan, "/bulyan/vector");
        let clipping = json!({ "kind": "centred_clipping", "norm_max": 1.0, "iterations": 3 });
        expect_aggregate(&case, &clipping, "/centered_clipping_from_zero/vector");
        let fools_gold = json!({ "kind": "fools_gold", "norm_max": 1e9 });
        expect_aggregate(&case, &fools_gold, "/foolsgold_weighted_average");
        let flame = json!({ "kind": "flame", "noise_factor": 0.0 });
        expect_aggregate(&case, &flame, "/flame_without_noise/vector");
        let mixing = Some(Mixing { byzantine_share: case.share() });
        let mixed = TaskDescription { mixing, ..description(json!({ "kind": "median" })) };
        expect_version(&case, mixed, "/mixed_coordinate_median");
        expect_aggregate(&case, &json!({ "kind": "geometric_median" }), "/geometric_median_4_iterations");
    }
}

/// With equal weights and τ = 1, 2 …, the aggregate is `tau.mean() * (x / tau[:, None]).mean(0)` in numpy.
#[test]
fn a_version_under_fed_nova_is_numpys() {
    let expected = [
        vec![0.394141769, -0.650369116, 2.495205714, -1.373410204],
        vec![-0.215355344, 1.10859607, -1.16698388],
        vec![0.292100573, 0.208284788, 1.64352015, 1.939555864, -0.255753483],
    ];
    for (case, expected) in cases().into_iter().zip(expected) {
        let made = version(description(json!({ "kind": "fed_nova" })), &case.vectors);
        for (found, expected) in weights(&made).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() <= 1e-5, "{}: {found} is not {expected}", case.name);
        }
    }
}

/// With all coordinates in the sample, the aggregate does not depend on the seed. It is `(factors[:, None] * x).sum(0) / kept.sum()`
/// with the Python lines of `server/aggregation/src/sign_guard/tests.rs`, and the lower median as `m`.
#[test]
fn a_version_under_sign_guard_is_that_of_scikit_learn() {
    let expected = [
        vec![0.49705119359191885, -0.5579109466940496, 2.4098727954785155, -1.5743572477835412],
        vec![-0.7861595248795016, 0.7013370602685642, 0.5264590999673294],
        vec![
            0.19309324025451785,
            0.14576137482106613,
            1.0020016425830043,
            1.1326719145638335,
            -0.07213030417182145,
        ],
    ];
    for (case, expected) in cases().into_iter().zip(expected) {
        let made =
            version(description(json!({ "kind": "sign_guard", "coordinate_share": 1.0 })), &case.vectors);
        for (found, expected) in weights(&made).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() <= 1e-5, "{}: {found} is not {expected}", case.name);
        }
    }
}

/// SplitMix64 as a generator that steps.
struct SplitMix(u64);

impl SplitMix {
    /// Returns the generator of a round: its seed comes from the round and the digests.
    fn of_round(updates: &[Vec<f32>]) -> Self {
        let ingest = Ingest::new(RoundLog::in_memory());
        let round = RoundId::from_random_bytes([9; 16]);
        let mut bytes = round.as_bytes().to_vec();
        for (number, values) in (1..).zip(updates) {
            bytes.extend(arrive(&ingest, round, number, values).digest.as_bytes());
        }
        let digest = UpdateDigest::of(&bytes);
        Self(u64::from_le_bytes(digest.as_bytes()[..8].try_into().unwrap()))
    }

    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a standard normal number by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let [length, angle] =
            [self.step(), self.step()].map(|bits| (bits >> 11) as f64 / (1u64 << 53) as f64);
        (-2.0 * (1.0 - length).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// Computes the buckets again: the permutation, and the medians.
#[test]
fn a_version_under_bucketing_has_the_medians_of_the_buckets() {
    for case in cases() {
        let bucketing = Some(Bucketing { bucket_size: 2 });
        let made =
            version(TaskDescription { bucketing, ..description(json!({ "kind": "median" })) }, &case.vectors);
        let mut random = SplitMix::of_round(&case.vectors);
        let mut drawn: Vec<(u64, &Vec<f32>)> =
            case.vectors.iter().map(|vector| (random.step(), vector)).collect();
        drawn.sort_by_key(|(number, _)| *number);
        for (index, found) in weights(&made).into_iter().enumerate() {
            let mean = |bucket: &[(u64, &Vec<f32>)]| {
                bucket.iter().map(|(_, vector)| f64::from(vector[index])).sum::<f64>() / bucket.len() as f64
            };
            let mut means: Vec<f64> = drawn.chunks(2).map(mean).collect();
            means.sort_by(f64::total_cmp);
            let median = (means[(means.len() - 1) / 2] + means[means.len() / 2]) / 2.0;
            assert!((f64::from(found) - median).abs() <= 1e-5, "{}: {found} is not {median}", case.name);
        }
    }
}

/// Adds the noise again, over several tiles: a sequence of normal numbers, times λ and the median norm.
#[test]
fn a_version_under_flame_has_the_noise_of_its_round() {
    let count = 70_000;
    let value =
        |client: u16, index: usize| (index as f32).sin() + (f32::from(client) * index as f32).cos() / 4.0;
    let updates: Vec<Vec<f32>> =
        (1..=9).map(|client| (0..count).map(|index| value(client, index)).collect()).collect();
    let with = |noise_factor: f64| {
        weights(&version(description(json!({ "kind": "flame", "noise_factor": noise_factor })), &updates))
    };
    let norm = |update: &Vec<f32>| update.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = updates.iter().map(norm).collect();
    norms.sort_by(f64::total_cmp);
    let mut random = SplitMix::of_round(&updates);
    for (index, (noised, mean)) in with(0.01).into_iter().zip(with(0.0)).enumerate() {
        let expected = f64::from(mean) + 0.01 * norms[4] * random.normal();
        assert!((f64::from(noised) - expected).abs() < 1e-5, "{index}: {noised} is not {expected}");
    }
}

/// With equal weights and F = 0.25, 0.5 …, the aggregates are these in numpy, with the plan's learning rate as 1 / L:
///
/// ```python
/// dw = -10 * x; w = np.exp(2 * F)
/// w @ x / w.sum(); -(F ** 2 @ dw) / (2 * F * (dw ** 2).sum(1) + 10 * F ** 2).sum()
/// ```
#[test]
fn versions_under_fair_rules_are_numpys() {
    let term = [
        vec![-0.4454542430295511, 0.9622427601883546, -3.5764504196847167, 2.19223917367263],
        vec![-0.36708400845563977, -5.920249030343965, -15.796767510248786],
        vec![
            0.21701348698711623,
            -0.03922181977990719,
            1.0092512549137482,
            1.4860080066929635,
            -0.2774805615527272,
        ],
    ];
    let fair = [
        vec![-0.00034261697495208647, 0.0006979741120569044, -0.00261493225580876, 0.0015667925034343673],
        vec![0.00015193486278034966, -0.0001308662525205028, -0.0008832403242637417],
        vec![
            0.00461951028734166,
            -0.0006276707597509085,
            0.023603876901628146,
            0.03226578048850029,
            -0.006426395488977844,
        ],
    ];
    for (rule, expected) in
        [(json!({ "kind": "term", "tilt": 2.0 }), term), (json!({ "kind": "q_fed_avg", "q": 2.0 }), fair)]
    {
        for (case, expected) in cases().into_iter().zip(expected) {
            let made = version(description(rule.clone()), &case.vectors);
            for (found, expected) in weights(&made).iter().zip(expected) {
                let distance = (f64::from(*found) - expected).abs();
                assert!(distance <= 1e-5 * expected.abs(), "{} {rule}: {found} is not {expected}", case.name);
            }
        }
    }
}

/// With equal weights, η is `max(1, (x ** 2).sum(1).mean() / (2 * ((x.mean(0) ** 2).sum() + 1e-3)))` in numpy.
#[test]
fn a_version_under_fed_exp_goes_further_than_the_mean() {
    for (case, step) in cases().into_iter().zip([108.68350419165127, 24.584510510188284, 1.0]) {
        let aggregator = json!({ "kind": "uniform_mean" });
        let finalizer = serde_json::from_value(json!({ "kind": "fed_exp" })).unwrap();
        let made = version(TaskDescription { finalizer, ..description(aggregator) }, &case.vectors);
        for (found, mean) in weights(&made).iter().zip(case.expected("/mean")) {
            assert!((f64::from(*found) - step * mean).abs() <= 1e-5 * step, "{}: {found}", case.name);
        }
    }
}

/// A model of many tiles gives the same weights as its parts alone, for each kind of measurement.
#[test]
fn tiles_and_passes_do_not_show() {
    // A tile of nine updates has 128 blocks of 256 parameters; this model needs three.
    let count = 70_000;
    let updates: Vec<Vec<f32>> = (1..=9u16)
        .map(|client| (0..count).map(|index| (f32::from(client) * index as f32).sin()).collect())
        .collect();
    let bulyan = json!({ "kind": "bulyan", "byzantine_share": 0.2 });
    let clipping = json!({ "kind": "centred_clipping", "norm_max": 100.0 });
    let fair = json!({ "kind": "q_fed_avg", "lipschitz": 1e-3 });
    for aggregator in [
        bulyan,
        clipping,
        fair,
        json!({ "kind": "sign_guard", "coordinate_share": 1.0 }),
        json!({ "kind": "fools_gold", "norm_max": 1.0, "confidence": 0.1 }),
        json!({ "kind": "flame", "noise_factor": 0.0 }),
        json!({ "kind": "geometric_median" }),
    ] {
        let made = version(description(aggregator.clone()), &updates);
        let choice: AggregatorChoice = serde_json::from_value(aggregator.clone()).unwrap();
        let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
        let training = LocalTraining {
            losses: (1..=9).map(|loss| f64::from(loss) / 4.0).collect(),
            learning_rate: Some(0.1),
        };
        let combination =
            choice.measured_combination(Preparation::None, 0, &[40; 9], &[1.0; 9], &training, |measured| {
                measured.add_tile(&rows);
                Ok::<_, std::convert::Infallible>(())
            });
        let mut whole = vec![0.0; count];
        combination.unwrap().combine(0, &rows, &mut whole);
        let whole: Vec<f32> = whole.into_iter().map(|value| value as f32).collect();
        assert_eq!(weights(&made), whole, "{aggregator}");
    }
}
