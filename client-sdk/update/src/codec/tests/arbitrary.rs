//! Arbitrary values, shapes and bytes.

use std::convert::Infallible;

use folkmoot_protocol::{TensorSchema, codec::Rule};
use proptest::{prelude::*, sample::select};

use super::support::{CODECS, encode_one, recipe, schema, vector};
use crate::codec::{
    Codec, Decoder, EncodeError, PayloadError, Recipe, TILE, Tile, TileValues, decode, encode, measure,
};

/// Values of possible model deltas, including large and tiny ones.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![4 => -1.0f32..1.0, 1 => Just(0.0), 1 => Just(-0.0), 1 => -1e28f32..1e28, 1 => -1e-38f32..1e-38]
}

fn shapes() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(0u64..12, 0..4), 1..5)
}

fn schema_of(shapes: &[Vec<u64>]) -> TensorSchema {
    schema(&shapes.iter().map(Vec::as_slice).collect::<Vec<&[u64]>>())
}

fn count(schema: &TensorSchema) -> usize {
    schema.parameter_count() as usize
}

/// Decodes a payload in pieces, and checks that the tiles are complete and in order.
fn read_in_pieces(
    decoder: &mut Decoder,
    bytes: &[u8],
    cut: usize,
) -> Result<Vec<f32>, PayloadError<Infallible>> {
    let mut values: Vec<f32> = Vec::new();
    for piece in bytes.chunks(cut) {
        decoder.push(piece, &mut |tile: Tile<'_>| {
            assert_eq!(tile.first, values.len() as u64);
            assert!((1..=TILE).contains(&tile.count) && tile.values.present().iter().all(|v| v.is_finite()));
            let start = values.len();
            values.resize(start + tile.count, 0.0);
            match tile.values {
                TileValues::Dense(dense) => values[start..].copy_from_slice(dense),
                TileValues::Sparse { positions, values: chosen } => {
                    assert!(positions.is_sorted() && positions.len() == chosen.len());
                    let pairs = positions.iter().zip(chosen);
                    pairs.for_each(|(at, value)| values[start + *at as usize] = *value);
                }
            }
            Ok(())
        })?;
    }
    Ok(values)
}

proptest! {
    #[test]
    fn every_codec_takes_every_shape(
        text in select(&CODECS), shapes in shapes(), values in prop::collection::vec(value(), 6000), seed: u64,
        cut in 1usize..400,
    ) {
        let schema = schema_of(&shapes);
        let values = &values[..count(&schema).min(6000)];
        prop_assume!(values.len() == count(&schema));
        let recipe = recipe(text);
        let bytes = encode(&schema, &recipe, values, seed, None).unwrap().bytes;
        let mut decoder = Decoder::expecting(&schema, &recipe);
        let seen = read_in_pieces(&mut decoder, &bytes, cut).unwrap();
        prop_assert!(decoder.is_complete());
        prop_assert_eq!(&seen, &decode(&schema, &bytes).unwrap());
        prop_assert_eq!(seen.len(), values.len());
        if text == "none" {
            prop_assert_eq!(&seen, values);
        }
        let surplus = decoder.push(&[0], &mut |_| Ok::<(), Infallible>(()));
        prop_assert_eq!(surplus, Err(PayloadError::TooLong));
    }

    #[test]
    fn a_share_survives_its_text(share in f64::MIN_POSITIVE..=1.0) {
        let codec = Codec::RandomK { share, unbiased: true };
        prop_assert_eq!(codec.to_string().parse(), Ok(codec));
    }

    #[test]
    fn the_error_does_not_depend_on_the_size(text in select(&CODECS), exponent in -100i32..90) {
        let unit = 2f32.powi(exponent);
        let values: Vec<f32> = vector("gauss").iter().map(|value| value * unit).collect();
        let schema = schema(&[&[32, 32]]);
        let recipe = recipe(text);
        let is_relative = !matches!(recipe.codec, Codec::Fp16 | Codec::Threshold { .. } | Codec::DeepGradient { .. });
        let bytes = encode(&schema, &recipe, &values, 1, None).unwrap().bytes;
        let seen = measure(&values, &decode(&schema, &bytes).unwrap(), bytes.len());
        let plain = vector("gauss");
        let bytes = encode(&schema, &recipe, &plain, 1, None).unwrap().bytes;
        let expected = measure(&plain, &decode(&schema, &bytes).unwrap(), bytes.len());
        if is_relative {
            let difference = (seen.normalised_error - expected.normalised_error).abs();
            prop_assert!(difference <= 1e-4 * expected.normalised_error, "{:?} {:?}", seen, expected);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), shapes in shapes(), cut in 1usize..100,
    ) {
        let schema = schema_of(&shapes);
        let _ = read_in_pieces(&mut Decoder::new(&schema), &bytes, cut);
        let header = encode(&schema, &Recipe::default(), &vec![0.0; count(&schema)], 1, None).unwrap().bytes;
        let bytes = [&header[..18], &bytes].concat();
        let _ = read_in_pieces(&mut Decoder::new(&schema), &bytes, cut);
    }

    #[test]
    fn mutated_bytes_are_read_without_a_panic(
        text in select(&CODECS), seed: u64, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(), is_cut: bool,
    ) {
        let schema = schema(&[&[20, 25], &[3]]);
        let values = &vector("gauss")[..503];
        let mut bytes = encode(&schema, &recipe(text), values, seed, None).unwrap().bytes;
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        let mut decoder = Decoder::new(&schema);
        if let Ok(values) = read_in_pieces(&mut decoder, &bytes, 64) {
            prop_assert!(values.len() <= 503 && (values.len() == 503 || !decoder.is_complete()));
        }
    }
}

/// Found by the fuzz target `recipe`: parsing lost the last bit of a share, so that the coordinator refused a client's
/// update because of another codec.
#[test]
fn a_share_of_seventeen_digits_is_read_exactly() {
    let codec: Codec = "random_k:0.055555500018360036".parse().unwrap();
    assert_eq!(codec, Codec::RandomK { share: 0.055_555_500_018_360_036, unbiased: true });
    assert_eq!(codec.to_string(), "random_k:0.055555500018360036");
}

#[test]
fn values_that_cannot_be_sent_are_named() {
    let schema = schema(&[&[2], &[2]]);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e29, -f32::MAX] {
        for text in CODECS {
            let refused = encode(&schema, &recipe(text), &[0.0, 1.0, 2.0, bad], 1, None);
            assert!(matches!(refused, Err(EncodeError::Value { index: 3, .. })), "{text} {refused:?}");
        }
    }
    let refused = encode(&schema, &recipe("none"), &[0.0; 3], 1, None);
    assert_eq!(refused, Err(EncodeError::ValueCount { found: 3, expected: 4 }));
    let recipe = Recipe::of(Codec::Sign);
    let recipe = Recipe { edges: Some(Codec::Fixed { bits: 0, block: 3, rotated: false }), ..recipe };
    assert!(matches!(encode(&schema, &recipe, &[0.0; 4], 1, None), Err(EncodeError::Recipe(_))));
}

#[test]
fn another_model_or_codec_is_refused() {
    let model = schema(&[&[300]]);
    let values = vector("gauss")[..300].to_vec();
    let bytes = encode_one("eden:4", &values, 1, None).bytes;
    let push = |mut decoder: Decoder, bytes: &[u8]| decoder.push(bytes, &mut |_| Ok::<(), Infallible>(()));
    assert_eq!(push(Decoder::expecting(&model, &recipe("eden:4")), &bytes), Ok(()));
    let codec = "eden:2".parse().unwrap();
    let refused = push(Decoder::expecting(&model, &recipe("eden:2")), &bytes);
    assert_eq!(refused, Err(PayloadError::OtherCodec { tensor: 0, codec }));
    let recipes = ["eden:2", "eden:4", "fp16"].map(recipe);
    let mut decoder = Decoder::expecting_one_of(&model, &recipes);
    assert_eq!(decoder.push(&bytes, &mut |_| Ok::<(), Infallible>(())), Ok(()));
    assert!(decoder.recipes().eq([1]));
    let refused = push(Decoder::expecting_one_of(&model, &[recipe("eden:2"), recipe("fp16")]), &bytes);
    assert_eq!(refused, Err(PayloadError::OtherCodec { tensor: 0, codec }));
    // All tensors must follow the same recipe.
    let two = schema(&[&[300], &[300]]);
    let rule = Rule { tensors: "t1".into(), codec: "fp16".parse().unwrap() };
    let mixed = Recipe { rules: vec![rule], ..recipe("eden:4") };
    let written = encode(&two, &mixed, &[values.clone(), values.clone()].concat(), 1, None).unwrap().bytes;
    let codec_of_both = "eden:4".parse().unwrap();
    let refused = push(Decoder::expecting_one_of(&two, &[recipe("fp16"), recipe("eden:4")]), &written);
    assert_eq!(refused, Err(PayloadError::OtherCodec { tensor: 1, codec: codec_of_both }));
    let mut decoder = Decoder::expecting_one_of(&two, &[recipe("fp16"), recipe("eden:4"), mixed]);
    assert_eq!(decoder.push(&written, &mut |_| Ok::<(), Infallible>(())), Ok(()));
    assert!(decoder.is_complete() && decoder.recipes().eq([2]));
    let alike = [recipe("top_k:0.1"), recipe("fp16"), recipe("top_k:0.2")];
    let written = encode_one("top_k:0.1", &values, 1, None).bytes;
    let mut decoder = Decoder::expecting_one_of(&model, &alike);
    assert_eq!(decoder.push(&written, &mut |_| Ok::<(), Infallible>(())), Ok(()));
    assert!(decoder.recipes().eq([0, 2]), "nothing tells which");
    let refused = push(Decoder::new(&schema(&[&[299]])), &bytes);
    assert_eq!(refused, Err(PayloadError::ElementCount { tensor: 0, found: 300, expected: 299 }));
    let refused = push(Decoder::new(&schema(&[&[299], &[1]])), &bytes);
    assert_eq!(refused, Err(PayloadError::TensorCount { found: 1, expected: 2 }));
    let mut version = bytes.clone();
    version[4] = 2;
    assert_eq!(push(Decoder::new(&model), &version), Err(PayloadError::FormatVersion(2)));
    let mut length = bytes;
    length[26..30].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(push(Decoder::new(&model), &length), Err(PayloadError::Tile { first: 0, .. })));
}

#[test]
fn tensors_of_many_tiles_are_read_in_order() {
    let schema = schema(&[&[3, 50_001], &[70_000]]);
    let values: Vec<f32> = (0..220_003).map(|at| ((at * 7919) % 2003) as f32 / 1000.0 - 1.0).collect();
    for text in CODECS {
        let recipe = recipe(text);
        let bytes = encode(&schema, &recipe, &values, 9, None).unwrap().bytes;
        let mut decoder = Decoder::expecting(&schema, &recipe);
        let seen = read_in_pieces(&mut decoder, &bytes, 10_007).unwrap();
        assert!(decoder.is_complete() && seen.len() == values.len(), "{text}");
        let bound = match recipe.codec {
            Codec::None | Codec::Fp16 | Codec::Bf16 | Codec::Weights { bits: 8, .. } => 1e-4,
            Codec::RandomK { share, unbiased: true } => 1.2 / share,
            Codec::Ternary { .. } | Codec::Fixed { bits: 1, .. } => 3.0,
            _ => 1.0,
        };
        let seen = measure(&values, &seen, bytes.len());
        assert!(seen.normalised_error < bound, "{text}: {seen:?}");
    }
}

#[test]
fn the_most_ordinary_codecs_are_as_small_as_they_should_be() {
    let schema = schema(&[&[1024]]);
    let values = vector("gauss");
    for (text, bits) in [
        ("fp16", 16.0),
        ("eden:4", 4.0),
        ("eden:1", 1.0),
        ("sign", 1.0),
        ("weights:8", 8.25),
        ("top_k:0.1", 3.9),
    ] {
        let bytes = encode(&schema, &recipe(text), &values, 1, None).unwrap().bytes;
        let measured = 32.0 / measure(&values, &values, bytes.len()).ratio;
        assert!(measured < bits + 0.4, "{text}: {measured} bits");
    }
}
