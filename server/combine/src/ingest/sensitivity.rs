//! Property tests: no update changes a round's sum by more than the clipping norm.

use std::sync::Arc;

use folkmoot_aggregation::{AggregatorChoice, Measurement};
use folkmoot_protocol::{
    AssignmentId, Recipe, RoundId, TensorSchema, TensorSpec, Timestamp, UpdateDigest, ValueGrid,
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_round_log::RoundLog;
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::{codec::encode, encode_update};
use proptest::prelude::*;

use super::{Announced, ExpectedUpdate, Ingest, Upload};

const ROUND: [u8; 16] = [9; 16];

fn expected(number: u8, parameter_count: usize, grid: ValueGrid, norm_max: u64) -> ExpectedUpdate {
    let mut expected = ExpectedUpdate::summed(
        AssignmentId::from_random_bytes([number; 16]),
        RoundId::from_random_bytes(ROUND),
        (parameter_count, grid),
        AggregatorChoice::UniformMean,
    );
    expected.norm_max = Some(norm_max);
    expected
}

/// The way in which an update is sent: its codec and the number of pieces.
#[derive(Clone, Copy, Debug)]
struct How {
    /// The codec; `None` for float32.
    codec: Option<&'static str>,
    /// The number of pieces in which the connection delivers the update.
    pieces: usize,
}

const PLAIN: How = How { codec: None, pieces: 1 };

fn recipe(codec: &str) -> Recipe {
    Recipe { exact_below: 0, ..Recipe::of(codec.parse().expect("it is a codec")) }
}

/// Sends an update. Returns `None` if it was refused.
fn send(ingest: &Ingest, mut expected: ExpectedUpdate, values: &[f32], how: How) -> Option<AcceptedUpdate> {
    let tensor = TensorSpec { name: "weight".into(), shape: vec![values.len() as u64] };
    let schema = TensorSchema { tensors: vec![tensor] };
    expected.schema_digest = schema.digest();
    // Values that cannot be encoded are sent as float32.
    let encoded = how.codec.and_then(|codec| encode(&schema, &recipe(codec), values, 7, None).ok());
    expected.compression = how.codec.map(|codec| Arc::new((schema, vec![recipe(codec)])));
    let header = UpdateHeader {
        assignment_id: expected.assignment_id,
        schema_digest: expected.schema_digest,
        base_version: expected.base_version,
        // This mean is unweighted, so the weight must not change the result.
        weight: expected.grid.weight_max,
        metrics: UpdateMetrics::default(),
        element_count: values.len() as u64,
        is_compressed: encoded.is_some(),
    };
    let bytes = match encoded {
        Some(encoded) => [header.encode().as_slice(), &encoded.bytes].concat(),
        None => encode_update(&header, values),
    };
    let announced = Announced { digest: UpdateDigest::of(&bytes), length: bytes.len() as u64 };
    let segment = ingest.log().open(expected.round_id, expected.assignment_id).expect("nobody writes it");
    // The encoding of a few values may be longer than the values, and is then refused.
    let mut upload = Upload::open(ingest, segment, expected, announced).ok()?;
    bytes.chunks(bytes.len().div_ceil(how.pieces)).try_for_each(|piece| upload.push(piece)).ok()?;
    Some(upload.finish(ingest, Timestamp(1)).expect("the digest is that of the bytes"))
}

/// Returns the round's sum over an honest client and, optionally, a hostile one.
fn sum(
    honest: &[f32],
    hostile: Option<&[f32]>,
    grid: ValueGrid,
    norm_max: u64,
    how: How,
) -> (Vec<i64>, bool) {
    let ingest = Ingest::new(RoundLog::in_memory());
    let mut accepted =
        Vec::from_iter(send(&ingest, expected(1, honest.len(), grid, norm_max), honest, PLAIN));
    assert_eq!(accepted.len(), 1, "who keeps to the norm is let in");
    let sent =
        hostile.and_then(|values| send(&ingest, expected(2, honest.len(), grid, norm_max), values, how));
    let is_in = sent.is_some();
    accepted.extend(sent);
    let sum = ingest.sum_of(RoundId::from_random_bytes(ROUND), grid, honest.len(), Measurement::None);
    sum.reconcile(ingest.log(), &accepted, &vec![1.0; accepted.len()]).expect("the log is in memory");
    let mut sums = Vec::new();
    sum.for_each_tile(|tile| sums.extend_from_slice(tile));
    (sums, is_in)
}

/// Generates the values of an attacker who looks for gaps in the checks: arbitrary bits; half grid steps, which
/// rounding enlarges; or a vector slightly below or above the norm.
fn hostile(grid: ValueGrid, norm_max: u64, count: usize) -> impl Strategy<Value = Vec<f32>> {
    let step = (-f64::from(grid.fraction_bits)).exp2();
    let bits = any::<u32>().prop_map(f32::from_bits);
    let halves = (-50i32..50).prop_map(move |steps| ((f64::from(steps) + 0.5) * step) as f32);
    let near = (prop::collection::vec(-1.0f64..1.0, count), -2.0f64..2.0).prop_map(move |(values, extra)| {
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt().max(1e-9);
        let length = (norm_max as f64 + extra * (count as f64).sqrt()).max(0.0) * step;
        values.iter().map(|value| (value / norm * length) as f32).collect::<Vec<f32>>()
    });
    let small = prop::collection::vec((-1e-3f32..1e-3).prop_map(|value| value), count);
    prop_oneof![
        1 => prop::collection::vec(bits, count),
        3 => prop::collection::vec(halves, count),
        6 => near,
        1 => small,
    ]
}

fn how() -> impl Strategy<Value = How> {
    let codecs = prop::sample::select(&["none", "fp16", "eden:2", "top_k:0.5", "qsgd:15"][..]);
    (prop::option::of(codecs), 1usize..5).prop_map(|(codec, pieces)| How { codec, pieces })
}

fn case() -> impl Strategy<Value = (ValueGrid, u64, Vec<f32>, How)> {
    let grid = (4u32..=28, prop_oneof![Just(1.0f32), Just(16.0)]);
    let grid =
        grid.prop_map(|(fraction_bits, value_max)| ValueGrid { fraction_bits, value_max, weight_max: 50 });
    (grid, 1u64..5000, 1usize..120, how()).prop_flat_map(|(grid, norm_max, count, how)| {
        hostile(grid, norm_max, count).prop_map(move |values| (grid, norm_max, values, how))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_client_moves_the_sum_by_more_than_the_norm((grid, norm_max, values, how) in case()) {
        let honest = vec![0.0; values.len()];
        let (without, _) = sum(&honest, None, grid, norm_max, PLAIN);
        let (with, is_in) = sum(&honest, Some(&values), grid, norm_max, how);
        let squares: u128 = with
            .iter()
            .zip(&without)
            .map(|(with, without)| u128::from(with.abs_diff(*without)).pow(2))
            .sum();
        prop_assert!(squares <= u128::from(norm_max).pow(2), "{squares} is above {norm_max}²");
        prop_assert!(is_in || squares == 0, "what was refused has no influence");
    }
}

#[test]
fn the_bound_is_met_and_not_passed() {
    let grid = ValueGrid { fraction_bits: 8, value_max: 16.0, weight_max: 50 };
    let step = 1.0 / 256.0;
    let honest = [0.0; 2];
    // (3, 4) steps has norm 5. (3, 4.5) has norm 5 if rounded down or to even, but 5.4 without rounding.
    let (sums, is_in) = sum(&honest, Some(&[3.0 * step, 4.0 * step]), grid, 5, PLAIN);
    assert!(is_in && sums == [3, 4]);
    let in_pieces = |pieces| How { codec: None, pieces };
    assert!(!sum(&honest, Some(&[3.0 * step, 4.51 * step]), grid, 5, in_pieces(2)).1);
    assert!(
        sum(&honest, Some(&[0.0, 5.5 * step]), grid, 6, in_pieces(3)).1,
        "five and a half is counted as six"
    );
    assert!(!sum(&honest, Some(&[0.0, 5.51 * step]), grid, 5, in_pieces(3)).1);
}

#[test]
fn compressed_updates_are_let_in_and_refused_by_what_arrives() {
    let grid = ValueGrid { fraction_bits: 16, value_max: 16.0, weight_max: 50 };
    let values: Vec<f32> = (0..4096).map(|index| (index as f32).sin()).collect();
    let norm = (values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() * 65_536.0) as u64;
    for codec in ["none", "fp16", "eden:2", "top_k:0.5", "qsgd:15"] {
        let how = How { codec: Some(codec), pieces: 3 };
        let enters = |norm_max| sum(&[0.0; 4096], Some(&values), grid, norm_max, how).1;
        assert!(enters(norm * 2), "{codec}");
        assert!(!enters(norm / 2), "{codec}");
    }
}
