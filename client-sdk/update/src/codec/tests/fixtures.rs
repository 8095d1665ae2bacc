//! Deterministic reference values, within 1e-9. The kernels run in float64 where float32 is not precise enough.

use serde_json::Value;

use super::support::{encode_one, memory, schema};
use crate::codec::{
    decode,
    kinds::{
        deep_gradient::{accumulate, clip_factor, mask, share_in_round},
        eden::quantise,
        one_bit::{Means, means},
    },
    transform::{
        hadamard::transform,
        lloyd_max::{DISTORTIONS, FOUR, ONE, Quantiser, THREE, TWO},
        power::{Matrix, iterate},
    },
};

const TOLERANCE: f64 = 1e-9;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../fixtures/deterministic.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|item| item.as_f64().map_or_else(|| numbers(item), |n| vec![n]))
        .collect()
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

#[track_caller]
fn assert_close(found: impl IntoIterator<Item = f64>, expected: &[f64]) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= TOLERANCE, "{found} {expected}");
    }
}

#[test]
fn the_quantisers_are_those_of_lloyd_and_max() {
    let reference = reference();
    let tables: [&[f64]; 4] = [&ONE, &TWO, &THREE, &FOUR];
    for (index, values) in tables.into_iter().enumerate() {
        let table = &reference["lloyd_max"][(index + 1).to_string()];
        let all = values.iter().rev().map(|value| -value).chain(values.iter().copied());
        assert_close(all, &numbers(&table["centroids"]));
        let middles = values.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
        assert_close(middles, &numbers(&table["boundaries"])[values.len()..]);
        assert_close([DISTORTIONS[index]], &[table["distortion"].as_f64().unwrap()]);
    }
    let mut values = [0.0; 4];
    Quantiser::of(TWO).decode(&[0, 1, 2, 3], &mut values);
    assert_eq!(values[..], narrow(&[-TWO[1], -TWO[0], TWO[0], TWO[1]]));
    let quantiser = Quantiser::of(TWO).for_deviation(2.0);
    let symbols = [-2.0, -1.9, -0.1, -0.0, 0.0, 1.9, 2.0].map(|value| quantiser.nearest(value).0);
    assert_eq!(symbols, [0, 1, 1, 2, 2, 2, 3]);
}

#[test]
fn hadamard_and_drive_follow_the_reference() {
    let reference = reference();
    let mut values = narrow(&numbers(&reference["fwht_orthonormal"]["input"]));
    let signed: Vec<f32> = values
        .iter()
        .zip(numbers(&reference["drive"]["signs"]))
        .map(|(value, sign)| value * sign as f32)
        .collect();
    transform(&mut values);
    // Four values: the norm of the transform is 2, and everything is exact in float32.
    assert_close(
        values.iter().map(|value| f64::from(*value) / 2.0),
        &numbers(&reference["fwht_orthonormal"]["output"]),
    );
    let mut rotated = signed;
    transform(&mut rotated);
    assert_close(
        rotated.iter().map(|value| f64::from(*value) / 2.0),
        &numbers(&reference["drive"]["rotated"]),
    );
    let mut codes = [0; 4];
    // `quantise` returns the scale for `D H q` with Lloyd-Max values, and the reference contains the scale for `D H
    // sign / 2`. The tolerance allows for the rounding of the sum of products, which is computed in float32.
    for (unbiased, name) in [(true, "scale_unbiased"), (false, "scale_biased")] {
        let scale = quantise(Quantiser::of(ONE), unbiased, &rotated, &mut codes) * ONE[0] * 2.0;
        let expected = reference["drive"][name].as_f64().unwrap();
        assert!((scale / expected - 1.0).abs() < 2.0 * f64::from(f32::EPSILON), "{scale} {expected}");
        assert_eq!(codes, [1, 1, 0, 0]);
    }
}

#[test]
fn signs_follow_the_reference() {
    let reference = reference();
    let values = numbers(&reference["fwht_orthonormal"]["input"]);
    for (kind, name) in [(Means::Two, "onebit_sgd"), (Means::One, "scaled_sign")] {
        let (positive, negative) = means(kind, &values);
        let decoded = values.iter().map(|value| if *value < 0.0 { negative } else { positive });
        assert_close(decoded, &numbers(&reference[name]["decoded"]));
    }
}

#[test]
fn top_k_and_its_memory_follow_the_reference() {
    // The reference values have three decimals. Multiplied by a thousand, they are exact in float32.
    let schema = schema(&[&[8]]);
    let mut memory = memory(&schema);
    for round in reference()["topk_error_feedback_k2"].as_array().unwrap() {
        let gradient: Vec<f32> =
            numbers(&round["gradient"]).iter().map(|v| (v * 1000.0).round() as f32).collect();
        let encoded = encode_one("top_k:0.25", &gradient, 1, Some(&memory));
        let sent = decode(&schema, &encoded.bytes).unwrap();
        assert_close(sent.iter().map(|value| f64::from(*value) / 1000.0), &numbers(&round["sent"]));
        memory = encoded.memory.unwrap().accepted();
        let left = memory.residual.iter().map(|value| f64::from(*value) / 1000.0);
        assert_close(left, &numbers(&round["residual_after"]));
    }
}

#[test]
fn scaled_sign_with_a_memory_follows_the_reference() {
    let reference = reference();
    let (mut residual, mut narrow_memory) = (vec![0.0f64; 8], memory(&schema(&[&[8]])));
    let gradients = reference["topk_error_feedback_k2"].as_array().unwrap();
    for (round, gradient) in reference["ef_signsgd_lr0.1"].as_array().unwrap().iter().zip(gradients) {
        let update: Vec<f64> = numbers(&gradient["gradient"]).iter().map(|value| 0.1 * value).collect();
        let wanted: Vec<f64> =
            update.iter().zip(&residual).map(|(value, residual)| value + residual).collect();
        let (positive, negative) = means(Means::One, &wanted);
        let sent: Vec<f64> =
            wanted.iter().map(|value| if *value < 0.0 { negative } else { positive }).collect();
        residual = wanted.iter().zip(&sent).map(|(value, sent)| value - sent).collect();
        assert_close(sent.iter().copied(), &numbers(&round["sent"]));
        assert_close(residual.iter().copied(), &numbers(&round["residual_after"]));
        // The computation above is in float64. The codec uses float32, so its tolerance is larger.
        let encoded = encode_one("sign", &narrow(&update), 1, Some(&narrow_memory));
        narrow_memory = encoded.memory.unwrap().accepted();
        for (found, expected) in narrow_memory.residual.iter().zip(&residual) {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}

#[test]
fn deep_gradient_compression_follows_the_reference() {
    let reference = reference();
    let (mut u, mut v) = (vec![0.0f64; 8], vec![0.0f64; 8]);
    let mut narrow_memory = memory(&schema(&[&[8]]));
    let gradients = reference["topk_error_feedback_k2"].as_array().unwrap();
    for (round, gradient) in
        reference["dgc_N4_clip4_momentum0.9_k2"].as_array().unwrap().iter().zip(gradients)
    {
        let gradient = numbers(&gradient["gradient"]);
        let norm = gradient.iter().map(|value| value * value).sum::<f64>().sqrt();
        let factor = clip_factor(norm, 4.0, 4);
        assert_close(gradient.iter().map(|value| factor * value), &numbers(&round["clipped"]));
        accumulate(&gradient, factor, 0.9, &mut u, &mut v);
        let sent: Vec<u32> = numbers(&round["sent_idx"]).iter().map(|index| *index as u32).collect();
        assert_close(sent.iter().map(|at| v[*at as usize]), &numbers(&round["sent_val"]));
        mask(&sent, &mut u, &mut v);
        assert_close(u.iter().copied(), &numbers(&round["u_after"]));
        assert_close(v.iter().copied(), &numbers(&round["v_after"]));
        // The computation above is in float64. The codec uses float32, also to select elements, so its tolerance is
        // larger.
        let encoded =
            encode_one("deep_gradient:0.25,clip=4,clients=4", &narrow(&gradient), 1, Some(&narrow_memory));
        narrow_memory = encoded.memory.unwrap().accepted();
        let pairs = narrow_memory.residual.iter().zip(&v).chain(narrow_memory.momentum.iter().zip(&u));
        for (found, expected) in pairs {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
    // The reference gives the last two shares with three digits, as the paper does.
    for (round, sparsity) in numbers(&reference["dgc_warmup_sparsity_by_epoch"]).iter().enumerate() {
        assert!((1.0 - share_in_round(0.001, 5, round as u32) - sparsity).abs() < 2.5e-4, "{round}");
    }
}

#[test]
fn low_rank_follows_the_reference() {
    let reference = &reference()["powersgd_rank1_fixed_q"];
    let (matrix, start) = (numbers(&reference["M"]), numbers(&reference["Q0"]));
    let (left, right) = iterate(Matrix { elements: &matrix, columns: 3 }, &start, 1);
    let product = left.iter().flat_map(|left| right.iter().map(move |right| left * right));
    assert_close(product, &numbers(&reference["M_hat"]));
}

#[test]
fn theory_is_what_the_codecs_promise() {
    let expected = |text: &str| crate::codec::expected_error(&text.parse().unwrap()).unwrap();
    assert_close(
        ["drive", "eden:1,unbiased=false", "random_k:0.1", "one_bit"].map(expected),
        &[std::f64::consts::FRAC_PI_2 - 1.0, 0.363_380_227_632_418_6, 9.0, 1.0 - 2.0 / std::f64::consts::PI],
    );
    assert!((expected("eden:4") - 0.009_592_143).abs() < 1e-8);
}
