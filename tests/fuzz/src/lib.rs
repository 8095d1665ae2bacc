//! Shared parts of the fuzz targets: models and recipes chosen by the first bytes of an input, and a memory limit.
//!
//! `cargo xtask fuzz` builds and runs the targets. The seeds come from files in the repository: golden bytes of the
//! codecs, models and tasks of the examples, and recorded messages. So they stay up to date.

#[path = "../../../client-sdk/data/tests/samples/mod.rs"]
pub mod samples;
pub mod seeds;

use std::alloc::System;
use std::panic;

use cap::Cap;
use folkmoot_protocol::{TensorSchema, TensorSpec, codec::Recipe};

/// Limits the memory that a target allocates. An allocation above the limit fails, and the fuzzer then keeps the input.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Golden payloads. Each line is the text of a codec, followed by the payload's bytes in hexadecimal.
const GOLDEN: &str = include_str!("../../../client-sdk/update/fixtures/golden.txt");

/// The tensor shapes of the models. The first model is the one in the golden payloads.
const SHAPES: [&[&[u64]]; 5] = [
    &[&[10, 15], &[]],
    &[&[300, 7], &[3], &[0], &[5, 4, 2]],
    &[&[65_536 + 700]],
    &[&[], &[1], &[2, 1], &[1, 900]],
    &[],
];

/// Runs `run`, which may allocate at most `bytes` in addition to the current allocations.
pub fn within<R>(bytes: usize, run: impl FnOnce() -> R) -> R {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + bytes).expect("the limit is above what is allocated");
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).expect("there is no larger limit");
    result
}

/// Prepares a target. Writes its seeds if they are requested, and removes the memory limit while a panic is reported.
///
/// A panic of the Parquet library is no finding, because the reader of Parquet files catches it. One that nothing catches still
/// ends the process.
pub fn prepare(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let tell_and_abort = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.location().is_some_and(|place| place.file().contains("/parquet-")) {
            return;
        }
        ALLOCATOR.set_limit(usize::MAX).expect("there is no larger limit");
        tell_and_abort(panic);
    }));
    seeds::write(seeds);
}

/// Returns the maximum number of bytes that the decoder for a model may allocate. The decoder needs tables, and a tile
/// with its encoded bytes and intermediate values, at most 32 bytes per element.
pub fn decoder_bytes_max(schema: &TensorSchema) -> usize {
    let largest = schema.tensors.iter().filter_map(TensorSpec::element_count).max().unwrap_or(0);
    (192 << 10) + 32 * largest as usize
}

/// Returns the codecs of the golden payloads, each with its payload.
pub fn golden() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let lines = GOLDEN.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(_, bytes)| !bytes.starts_with('=')).map(|(codec, bytes)| {
        let (pairs, _) = bytes.as_bytes().as_chunks::<2>();
        let digit = |digit: u8| (digit as char).to_digit(16).expect("the golden bytes are hexadecimal") as u8;
        (codec, pairs.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect())
    })
}

/// The settings that the first bytes of an input select.
pub struct Choices {
    /// The tensors of the model.
    pub schema: TensorSchema,
    /// The recipe that payloads must use; `None` if they may use any.
    pub recipe: Option<Recipe>,
    /// The number of bytes in each piece that arrives.
    pub piece: usize,
}

impl Choices {
    /// Reads three bytes, which select the model, the recipe (0 for none) and the size of a piece.
    pub fn read(input: &[u8]) -> Option<(Self, &[u8])> {
        let ([model, recipe, piece], rest) = input.split_first_chunk()?;
        let shapes = SHAPES[usize::from(*model) % SHAPES.len()];
        let tensor = |(index, shape): (usize, &&[u64])| TensorSpec {
            name: format!("t{index}"),
            shape: shape.to_vec(),
        };
        let schema = TensorSchema { tensors: shapes.iter().enumerate().map(tensor).collect() };
        let codec = |number: usize| {
            golden().nth(number).map(|(codec, _)| codec.parse().expect("it is a codec's text"))
        };
        let recipe = usize::from(*recipe).checked_sub(1).and_then(codec);
        let recipe = recipe.map(|codec| Recipe { exact_below: 0, ..Recipe::of(codec) });
        let piece = if *piece == 0 { usize::MAX } else { usize::from(*piece) };
        Some((Self { schema, recipe, piece }, rest))
    }
}
