//! The memory: its contents, its use, and its storage.

use folkmoot_protocol::TaskId;
use proptest::prelude::*;

use super::support::{CODECS, encode_one, memory, recipe, schema, vector};
use crate::codec::{Codec, EncodeError, Memory, PendingMemory, decode, encode};

#[test]
fn what_is_sent_and_what_is_kept_is_the_update() {
    let values = vector("gauss");
    let schema = schema(&[&[32, 32]]);
    for text in CODECS {
        let codec: Codec = text.parse().unwrap();
        let mut recipe = recipe(text);
        if let Codec::DeepGradient { clip, .. } = &mut recipe.codec {
            *clip = None;
        }
        let encoded = encode(&schema, &recipe, &values, 1, Some(&memory(&schema))).unwrap();
        let sent = decode(&schema, &encoded.bytes).unwrap();
        let kept = encoded.memory.unwrap().accepted().residual;
        if !codec.uses_memory() {
            assert!(kept.iter().all(|value| *value == 0.0), "{text}");
            continue;
        }
        assert!(kept.iter().any(|value| *value != 0.0), "{text}");
        for ((sent, kept), value) in sent.iter().zip(&kept).zip(&values) {
            assert!((sent + kept - value).abs() < 1e-6, "{text}: {sent} {kept} {value}");
        }
    }
}

#[test]
fn a_biased_codec_with_a_memory_sends_everything_in_the_end() {
    let values = vector("gauss");
    let schema = schema(&[&[1024]]);
    for text in ["top_k:0.05", "sign", "one_bit", "threshold:2", "drive:unbiased=false,block=1024"] {
        let mut memory = memory(&schema);
        let mut sum = vec![0.0f64; values.len()];
        let rounds = 200;
        for seed in 0..rounds {
            let encoded = encode_one(text, &values, seed, Some(&memory));
            let sent = decode(&schema, &encoded.bytes).unwrap();
            sum.iter_mut().zip(sent).for_each(|(sum, sent)| *sum += f64::from(sent));
            memory = encoded.memory.unwrap().accepted();
        }
        // The sum of the sent updates equals the sum of the updates minus the current memory: the memory does not grow.
        for ((sum, value), kept) in sum.iter().zip(&values).zip(&memory.residual) {
            let expected = f64::from(*value) * rounds as f64 - f64::from(*kept);
            assert!((sum - expected).abs() < 1e-3 * (1.0 + expected.abs()), "{text}: {sum} {expected}");
        }
        let norm = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        assert!(norm(&memory.residual) < 40.0 * norm(&values), "{text} {}", norm(&memory.residual));
    }
}

#[test]
fn a_memory_serves_its_task_and_model_for_a_while() {
    let model = schema(&[&[4]]);
    let task = TaskId::from_random_bytes([4; 16]);
    let fresh = || memory(&model);
    assert_eq!(fresh().for_update(task, &model, 5, 2).unwrap().version, 5);
    assert!(fresh().for_update(task, &model, 6, 2).is_none());
    assert!(fresh().for_update(task, &model, 2, 2).is_none());
    assert!(fresh().for_update(TaskId::from_random_bytes([5; 16]), &model, 3, 2).is_none());
    assert!(fresh().for_update(task, &schema(&[&[2, 2]]), 3, 2).is_none());
    let other = encode(&schema(&[&[2, 2]]), &recipe("sign"), &[0.0; 4], 1, Some(&fresh()));
    assert_eq!(other, Err(EncodeError::OtherMemory));
}

#[test]
fn a_memory_counts_only_when_it_is_accepted() {
    let before = memory(&schema(&[&[1024]]));
    let first = encode_one("top_k:0.05", &vector("gauss"), 1, Some(&before));
    assert_eq!(encode_one("top_k:0.05", &vector("gauss"), 1, Some(&before)), first);
    let after = first.memory.clone().unwrap().accepted();
    assert_eq!((before.rounds, after.rounds), (0, 1));
    assert_ne!(encode_one("top_k:0.05", &vector("gauss"), 1, Some(&after)).bytes, first.bytes);
}

#[test]
fn a_start_is_kept_for_the_next_power_iteration() {
    let schema = schema(&[&[32, 32]]);
    let values = vector("gauss");
    let mut memory = memory(&schema);
    let mut errors = Vec::new();
    for seed in 0..12 {
        memory.residual.fill(0.0);
        let encoded =
            encode(&schema, &recipe("low_rank:4,iterations=1"), &values, seed, Some(&memory)).unwrap();
        let decoded = decode(&schema, &encoded.bytes).unwrap();
        errors.push(crate::codec::measure(&values, &decoded, 1).normalised_error);
        memory = encoded.memory.unwrap().accepted();
    }
    assert!(errors[11] < errors[0] - 0.05 && errors[11] < 0.63, "{errors:?}");
}

proptest! {
    #[test]
    fn a_memory_survives_its_bytes(
        values in prop::collection::vec(-1e3f32..1e3, 4), momentum: bool, start in prop::collection::vec(-1f32..1.0, 0..5),
    ) {
        let mut memory = memory(&schema(&[&[4]]));
        memory.residual = values.clone();
        memory.momentum = if momentum { values } else { Vec::new() };
        memory.starts.insert(3, start);
        let bytes = PendingMemory(memory.clone()).to_bytes();
        prop_assert_eq!(PendingMemory::from_bytes(&bytes).unwrap().accepted(), memory);
        prop_assert!(Memory::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(at in 0usize..120, byte: u8, cut in 0usize..130) {
        let mut bytes = memory(&schema(&[&[4]])).to_bytes();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(cut);
        let _ = Memory::from_bytes(&bytes);
    }
}
