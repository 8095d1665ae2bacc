//! Functions that the tests share.

use folkmoot_protocol::{TaskId, TensorSchema, TensorSpec};

use crate::codec::{Codec, Encoded, Memory, Recipe, decode, encode};

/// Every codec, in at least one form.
pub const CODECS: [&str; 26] = [
    "none",
    "fp16",
    "bf16",
    "fixed:1",
    "fixed:8,block=256",
    "fixed:3,rotated=true",
    "qsgd:15",
    "qsgd:127,bucket=32",
    "ternary",
    "ternary:2.5",
    "one_bit",
    "sign",
    "random_k:0.1",
    "random_k:0.8,unbiased=false",
    "top_k:0.01",
    "top_k:0.3,half_values=true",
    "deep_gradient:0.05,clip=1,clients=4,warmup_rounds=3",
    "threshold:0.5",
    "low_rank:2",
    "sufficient_factors:3",
    "drive",
    "drive:unbiased=false,block=64",
    "eden:2",
    "eden:4,block=1024",
    "weights:4",
    "weights:8",
];

/// Makes the schema of tensors `t0`, `t1`, ….
pub fn schema(shapes: &[&[u64]]) -> TensorSchema {
    let tensors = shapes.iter().enumerate();
    let tensors = tensors
        .map(|(index, shape)| TensorSpec { name: format!("t{index}"), shape: shape.to_vec() })
        .collect();
    TensorSchema { tensors }
}

/// Makes the recipe of one codec for all tensors, including small ones.
pub fn recipe(text: &str) -> Recipe {
    let codec: Codec = text.parse().unwrap();
    Recipe { exact_below: 0, ..Recipe::of(codec) }
}

/// Encodes one tensor.
pub fn encode_one(text: &str, values: &[f32], seed: u64, memory: Option<&Memory>) -> Encoded {
    encode(&schema(&[&[values.len() as u64]]), &recipe(text), values, seed, memory).unwrap()
}

/// Encodes one tensor, decodes it, and returns the values.
pub fn through(text: &str, values: &[f32], seed: u64) -> Vec<f32> {
    let encoded = encode_one(text, values, seed, None);
    decode(&schema(&[&[values.len() as u64]]), &encoded.bytes).unwrap()
}

/// Makes an empty memory.
pub fn memory(schema: &TensorSchema) -> Memory {
    Memory::new(TaskId::from_random_bytes([4; 16]), schema, 3)
}

/// Reads one of the reference vectors.
pub fn vector(name: &str) -> Vec<f32> {
    let bytes: &[u8] = match name {
        "gauss" => include_bytes!("../../../fixtures/gauss_1024.f32le"),
        _ => include_bytes!("../../../fixtures/lognormal_1024.f32le"),
    };
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
