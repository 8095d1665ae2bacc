//! Sufficient factors: that they are found in what clients really send, keep to their error, and are sent only where
//! they are shorter.

use super::support::{recipe, schema};
use crate::codec::{
    decode, encode, measure,
    random::{Place, Purpose},
};

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut words = vec![0; count];
    Place { seed, tensor: 0, tile: 0 }.stream(Purpose::Start).fill(&mut words);
    words.iter().map(|word| f64::from(*word) / 2_147_483_648.0 - 1.0).collect()
}

/// The sum of outer products, the n-th of which counts `strength(n)` times.
fn outer_products(rows: usize, columns: usize, count: usize, strength: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sum = vec![0.0; rows * columns];
    for product in 0..count {
        let seed = 2 * product as u64;
        let (down, across) = (numbers(rows, seed), numbers(columns, seed + 1));
        for (at, entry) in sum.iter_mut().enumerate() {
            *entry += strength(product) * down[at / columns] * across[at % columns];
        }
    }
    sum
}

/// What a client sends after a step: the difference of its float32 weights before it and behind it.
fn step(gradient: &[f64], learning_rate: f64) -> Vec<f32> {
    let before = numbers(gradient.len(), 1000).into_iter().map(|weight| 0.1 * weight as f32);
    let pairs = before.zip(gradient);
    pairs.map(|(before, slope)| (before - (learning_rate * slope) as f32) - before).collect()
}

/// The normalised error of a matrix that is encoded, and how many times fewer its bytes are.
fn sent(codec: &str, rows: usize, columns: usize, values: &[f32]) -> (f64, f64) {
    let schema = schema(&[&[rows as u64, columns as u64]]);
    let bytes = encode(&schema, &recipe(codec), values, 5, None).unwrap().bytes;
    let decoded = decode(&schema, &bytes).unwrap();
    let measured = measure(values, &decoded, bytes.len());
    (measured.normalised_error.sqrt(), measured.ratio)
}

#[test]
fn the_factors_of_a_batch_are_found_in_a_difference_of_float32_weights() {
    let (rows, columns) = (256, 64);
    let gradient = outer_products(rows, columns, 8, |_| 0.01);
    for learning_rate in [1.0, 0.1, 0.01] {
        let update = step(&gradient, learning_rate);
        let (error, ratio) = sent("sufficient_factors:8", rows, columns, &update);
        println!("rate {learning_rate}: {ratio:.2} times fewer bytes, error {error:.1e}");
        // 256 · 64 numbers against 8 · (256 + 64).
        assert!(error < 1e-3 && ratio > 6.3, "rate {learning_rate}: {error} {ratio}");
    }
}

#[test]
fn the_error_keeps_to_its_bound_and_the_rank_is_nearly_the_least() {
    let (rows, columns) = (80, 60);
    for decay in [0.9f64, 0.5] {
        let matrix = outer_products(rows, columns, 60, |product| decay.powi(product as i32));
        let values: Vec<f32> = matrix.iter().map(|value| *value as f32).collect();
        for bound in [0.1, 0.03, 0.01, 1e-3, 1e-4] {
            let (error, ratio) =
                sent(&format!("sufficient_factors:1024,error={bound}"), rows, columns, &values);
            assert!(error <= bound, "{decay} {bound}: {error}");
            let rank = (rows * columns) as f64 / (ratio * (rows + columns) as f64);
            // Columns that leave a tenth of the bound would be a few too many; float32 values have no error at all.
            let is_float32 = error == 0.0;
            assert!(is_float32 || error > 0.1 * bound, "{decay} {bound}: {error} at rank {rank}");
            println!("{decay} {bound}: error {error:.1e} at rank {rank:.1}");
            assert!(!is_float32 || decay == 0.9, "a strong decay always pays");
        }
    }
}

#[test]
fn what_has_no_sufficient_factors_travels_exactly() {
    let values: Vec<f32> = numbers(64 * 48, 3).iter().map(|value| *value as f32).collect();
    assert_eq!(sent("sufficient_factors:1024", 64, 48, &values).0, 0.0);
    // Of nine products eight are not enough.
    let nine: Vec<f32> = outer_products(64, 48, 9, |_| 1.0).iter().map(|value| *value as f32).collect();
    assert_eq!(sent("sufficient_factors:8", 64, 48, &nine).0, 0.0);
    assert!(sent("sufficient_factors:9", 64, 48, &nine).1 > 2.9);
}

#[test]
fn each_tensor_has_the_shorter_form() {
    // One row that is not 0 is an outer product, and shorter as float32 values whose zeros are entropy-coded.
    let (rows, columns) = (64, 48);
    let mut one_row = vec![0.0f32; rows * columns];
    one_row[5 * columns..6 * columns].copy_from_slice(&[0.5; 48]);
    let schema = schema(&[&[64, 48], &[64, 48]]);
    let thin: Vec<f32> =
        outer_products(rows, columns, 2, |_| 1.0).iter().map(|value| *value as f32).collect();
    let length =
        |codec: &str, values: &[f32]| encode(&schema, &recipe(codec), values, 5, None).unwrap().bytes.len();
    let both = [thin.as_slice(), &one_row].concat();
    let (factors, floats) = (length("sufficient_factors:8", &both), length("none", &both));
    let zeros = length("none", &[vec![0.0; thin.len()], one_row].concat());
    // Both rest with what is shorter: two products, and the zeros as floats.
    assert!(factors < floats / 3, "{factors} of {floats}");
    assert!(factors <= 4 * 2 * (rows + columns) + zeros + 64, "{factors}: {zeros} of them for zeros");
}
