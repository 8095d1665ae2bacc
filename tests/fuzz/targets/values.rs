//! Encodes any values with any codec and any outer products. If the encoder accepts the values, the decoded values must
//! be finite. For the codec `weights`, they must also be close to the original values.

#![no_main]

use folkmoot_fuzz::{Choices, prepare, seeds};
use folkmoot_protocol::{
    OuterProducts, TensorSchema, TensorSpec,
    codec::{Codec, Recipe},
};
use folkmoot_update::codec::{decode, encode_recorded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: prepare(|| seeds::of_codecs(|_, number, payload| seeds::payloads(number, payload))), |input: &[u8]| {
    let Some((choices, bytes)) = Choices::read(input) else { return };
    let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    // Use a matrix if the number of values allows it, with a few outer products of the same values.
    let columns = if values.len() % 8 == 0 { 8 } else { 1 };
    let rows = values.len() / columns;
    let shape = if columns == 1 { vec![rows as u64] } else { vec![rows as u64, columns as u64] };
    let count = choices.piece % 4;
    let some = |length: usize| values.iter().copied().cycle().take(count * length).collect();
    let products = OuterProducts { count, left: some(rows), right: some(columns) };
    let tensor = TensorSpec { name: "t".to_owned(), shape };
    let schema = TensorSchema { tensors: vec![tensor] };
    let weights = Codec::Weights { bits: 8, block: 64 };
    let recipe = choices.recipe.unwrap_or(Recipe { exact_below: 0, ..Recipe::of(weights) });
    let products = [Some(products)];
    let Ok(encoded) = encode_recorded(&schema, &recipe, &values, &products, choices.piece as u64, None) else {
        assert!(values.iter().any(|value| value.is_nan() || value.abs() > 7.9e28));
        return;
    };
    let decoded = decode(&schema, &encoded.bytes).expect("what was encoded can be decoded");
    assert_eq!(decoded.len(), values.len());
    if let Codec::Weights { bits, block } = recipe.codec {
        let levels = f32::from((1u8 << (bits - 1)) - 1);
        for (values, decoded) in values.chunks(block as usize).zip(decoded.chunks(block as usize)) {
            let largest = values.iter().fold(0.0, |largest, value| value.abs().max(largest));
            // The maximum error is half a step, plus the error from rounding the scale to 8 bits. Subnormal steps
            // become 0.
            let most = largest / levels * 0.505 + f32::MIN_POSITIVE * levels;
            for (value, decoded) in values.iter().zip(decoded) {
                assert!((value - decoded).abs() <= most, "{value} {decoded} {largest}");
            }
        }
    }
});
