//! Sufficient factors: they are found in realistic updates, stay within their error, and are sent only if they are
//! shorter.

use std::convert::Infallible;

use folkmoot_protocol::OuterProducts;

use super::support::{recipe, schema};
use crate::codec::{
    Decoder, PayloadError, Tile, decode, encode, encode_recorded, measure,
    transform::random::{Place, Purpose},
};

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut words = vec![0; count];
    Place { seed, tensor: 0, tile: 0 }.stream(Purpose::Start).fill(&mut words);
    words.iter().map(|word| f64::from(*word) / 2_147_483_648.0 - 1.0).collect()
}

/// Returns the sum of outer products, with the weight `strength(n)` for the n-th.
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

/// Returns a client's update after a step: the difference of its float32 weights after and before.
fn step(gradient: &[f64], learning_rate: f64) -> Vec<f32> {
    let before = numbers(gradient.len(), 1000).into_iter().map(|weight| 0.1 * weight as f32);
    let pairs = before.zip(gradient);
    pairs.map(|(before, slope)| (before - (learning_rate * slope) as f32) - before).collect()
}

/// Returns the normalised error of an encoded matrix, and the compression ratio.
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
            // Columns that use only a tenth of the bound would be a few too many. Float32 values have no error.
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
    // Of nine products, eight are not enough.
    let nine: Vec<f32> = outer_products(64, 48, 9, |_| 1.0).iter().map(|value| *value as f32).collect();
    assert_eq!(sent("sufficient_factors:8", 64, 48, &nine).0, 0.0);
    assert!(sent("sufficient_factors:9", 64, 48, &nine).1 > 2.9);
}

#[test]
fn each_tensor_has_the_shorter_form() {
    // A single non-zero row is an outer product, but shorter as float32 values, whose zeros are entropy-coded.
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
    // Both use the shorter form: two products, and the zeros as floats.
    assert!(factors < floats / 3, "{factors} of {floats}");
    assert!(factors <= 4 * 2 * (rows + columns) + zeros + 64, "{factors}: {zeros} of them for zeros");
}

/// Outer products whose sum is `rate` times that of [`outer_products`] with the same count.
fn recorded(rows: usize, columns: usize, count: usize, rate: f64) -> OuterProducts {
    let mut products = OuterProducts { count, ..OuterProducts::default() };
    for product in 0..count as u64 {
        products.left.extend(numbers(rows, 2 * product).iter().map(|value| (rate * value) as f32));
        products.right.extend(numbers(columns, 2 * product + 1).iter().map(|value| *value as f32));
    }
    products
}

/// Encodes and decodes a matrix with recorded products. Returns it and its size in bytes.
fn sent_recorded(
    codec: &str,
    (rows, columns): (usize, usize),
    values: &[f32],
    products: &OuterProducts,
) -> (Vec<f32>, usize) {
    let schema = schema(&[&[rows as u64, columns as u64]]);
    let encoded =
        encode_recorded(&schema, &recipe(codec), values, &[Some(products.clone())], 5, None).unwrap();
    (decode(&schema, &encoded.bytes).unwrap(), encoded.bytes.len())
}

/// The sum of products, as computed by a decoder.
fn sum(products: &OuterProducts, rows: usize, columns: usize) -> Vec<f32> {
    let element = |index: usize| {
        let terms = (0..products.count).map(|product| {
            let left = products.left[product * rows + index / columns];
            f64::from(left) * f64::from(products.right[product * columns + index % columns])
        });
        terms.sum::<f64>() as f32
    };
    (0..rows * columns).map(element).collect()
}

#[test]
fn recorded_products_are_short_at_any_rate() {
    let (rows, columns) = (256, 64);
    let gradient = outer_products(rows, columns, 8, |_| 1.0);
    for rate in [1.0, 1e-2, 1e-4, 1e-6] {
        let (update, products) = (step(&gradient, -rate), recorded(rows, columns, 8, rate));
        for codec in
            ["sufficient_factors:8", "sufficient_factors:8,error=1e-6", "sufficient_factors:8,error=0.0"]
        {
            let (arriving, bytes) = sent_recorded(codec, (rows, columns), &update, &products);
            let exact = sum(&products, rows, columns);
            let error = measure(&exact, &arriving, bytes).normalised_error.sqrt();
            let ratio = (4 * rows * columns) as f64 / bytes as f64;
            println!("{codec} at rate {rate}: {ratio:.2} times fewer bytes, error {error:.1e}");
            assert!(error < 1e-3 && ratio > 6.3, "{codec} at rate {rate}: {error} {ratio}");
            // Weights round by half a unit in the last place of 0.1, and so does their difference.
            let apart =
                arriving.iter().zip(&update).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
            let is_exact = codec.ends_with("0.0");
            assert!(!is_exact || apart <= 2.0 * 2f32.powi(-28) + rate as f32 * 2e-6, "rate {rate}: {apart}");
        }
    }
    // They cannot be found in the difference of the weights.
    let ratio = sent("sufficient_factors:8", rows, columns, &step(&gradient, -1e-6)).1;
    assert!(ratio < 2.0, "{ratio}");
}

#[test]
fn without_an_error_recorded_products_travel_bit_for_bit() {
    let (rows, columns) = (40, 30);
    let products = recorded(rows, columns, 6, 0.01);
    let update = step(&outer_products(rows, columns, 6, |_| 1.0), -0.01);
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let (arriving, bytes) =
        sent_recorded("sufficient_factors:6,error=0.0", (rows, columns), &update, &products);
    assert_eq!(bits(&arriving), bits(&sum(&products, rows, columns)));
    assert!(bytes <= 4 * 6 * (rows + columns) + 64);
    // If nothing was recorded, or more than may be sent, the update travels bit for bit.
    assert_eq!(sent("sufficient_factors:6,error=0.0", rows, columns, &update).0, 0.0);
    let (arriving, _) = sent_recorded("sufficient_factors:5,error=0.0", (rows, columns), &update, &products);
    assert_eq!(bits(&arriving), bits(&update));
}

#[test]
fn recorded_products_are_reduced_as_far_as_the_error_allows() {
    let (rows, columns) = (80, 60);
    let mut products = recorded(rows, columns, 3, 0.01);
    for _ in 0..2 {
        let again = products.clone();
        products.count += again.count;
        products.left.extend(&again.left);
        products.right.extend(&again.right);
    }
    let update = sum(&products, rows, columns);
    let rank = |codec: &str| {
        let (arriving, bytes) = sent_recorded(codec, (rows, columns), &update, &products);
        let error = measure(&update, &arriving, bytes).normalised_error.sqrt();
        (bytes / (4 * (rows + columns)), error)
    };
    assert_eq!(products.count, 12);
    assert_eq!(rank("sufficient_factors:16,error=0.0").0, 12);
    let (reduced, error) = rank("sufficient_factors:16");
    assert!(reduced == 3 && error <= 1e-3, "{reduced} {error}");
    // Fewer products are enough, although more were recorded.
    assert_eq!(rank("sufficient_factors:3").0, 3);
}

#[test]
fn products_that_are_not_the_tensors_are_left_aside() {
    let (rows, columns) = (40, 30);
    let update = step(&outer_products(rows, columns, 30, |_| 1.0), -0.01);
    let codec = "sufficient_factors:6,error=0.0";
    let good = recorded(rows, columns, 4, 0.01);
    let mut cut = good.clone();
    cut.left.pop();
    let mut more = good.clone();
    more.count = usize::MAX;
    let mut broken = good.clone();
    broken.right[7] = f32::NAN;
    let mut huge = good;
    (huge.left[0], huge.right[0]) = (1e30, 1e30);
    for products in [cut, more, broken, huge, recorded(columns, rows, 4, 0.01)] {
        assert_eq!(sent_recorded(codec, (rows, columns), &update, &products).0, update);
    }
}

#[test]
fn factors_that_cannot_be_the_tensors_are_refused_before_they_are_read() {
    let (schema, recipe) = (schema(&[&[64, 48]]), recipe("sufficient_factors:8"));
    let thin: Vec<f32> = outer_products(64, 48, 2, |_| 1.0).iter().map(|value| *value as f32).collect();
    let bytes = encode(&schema, &recipe, &thin, 5, None).unwrap().bytes;
    // Header, tag, rank, elements.
    const RANK: usize = 18 + 1;
    const FIRST: usize = RANK + 2 + 4;
    assert_eq!(bytes[RANK - 1..FIRST], [10, 2, 0, 0, 12, 0, 0]);
    let push = |decoder: &mut Decoder, bytes: &[u8]| {
        decoder.push(bytes, &mut |_: Tile<'_>| -> Result<(), Infallible> { Ok(()) })
    };
    for rank in [9u16, 27, 28, 1024, u16::MAX] {
        let mut hostile = bytes[..FIRST].to_vec();
        hostile[RANK..RANK + 2].copy_from_slice(&rank.to_le_bytes());
        let refused = push(&mut Decoder::expecting(&schema, &recipe), &hostile).unwrap_err();
        // Factors of 28 columns are no shorter than the matrix, and the recipe allows fewer than 9 columns.
        let is_too_long = matches!(refused, PayloadError::Codec { .. });
        assert!(
            is_too_long == (rank > 27) && (is_too_long || matches!(refused, PayloadError::OtherCodec { .. })),
            "{rank}: {refused}"
        );
        assert_eq!(push(&mut Decoder::new(&schema), &hostile).is_err(), rank > 27, "{rank}");
    }
    let mut hostile = bytes.clone();
    hostile[RANK + 2..FIRST].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(decode(&schema, &hostile), Err(PayloadError::ElementCount { found: u32::MAX, .. })));
    // Products beyond the range of float32, and non-finite factors.
    for value in [3e38f32, f32::NAN, f32::INFINITY] {
        let mut hostile = bytes.clone();
        hostile[FIRST..FIRST + 4].copy_from_slice(&value.to_le_bytes());
        let left = FIRST + 4 * 2 * 48 + 4;
        hostile[left..left + 4].copy_from_slice(&value.to_le_bytes());
        assert!(matches!(decode(&schema, &hostile), Err(PayloadError::NotFinite { first: 0 })), "{value}");
    }
    for length in FIRST..bytes.len() {
        assert!(decode(&schema, &bytes[..length]).is_err(), "cut to {length}");
    }
    // A vector is not a matrix, and Q may have at most 16 MiB for any matrix.
    let vector = super::support::schema(&[&[3072]]);
    assert!(push(&mut Decoder::new(&vector), &bytes[..FIRST]).is_err());
    let wide = super::support::schema(&[&[1 << 8, 1 << 22]]);
    let mut hostile = bytes[..FIRST].to_vec();
    hostile[RANK + 2..].copy_from_slice(&(1u32 << 30).to_le_bytes());
    assert!(matches!(push(&mut Decoder::new(&wide), &hostile), Err(PayloadError::Codec { .. })));
    hostile[RANK] = 1;
    assert!(
        push(&mut Decoder::new(&wide), &hostile).is_ok(),
        "16 MiB of Q are waited for, and not yet taken"
    );
}
