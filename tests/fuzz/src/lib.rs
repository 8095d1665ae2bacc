//! What the fuzz targets share: models and recipes that a first few bytes choose, and a limit on memory.
//!
//! `cargo xtask fuzz` builds and runs them. The seeds are made from what the repository has of each format (the golden bytes
//! of the codecs, the models and tasks of the examples, recorded messages), so that they follow it.

#[path = "../../../client-sdk/data/tests/samples/mod.rs"]
pub mod samples;
pub mod seeds;

use std::alloc::System;
use std::panic;

use cap::Cap;
use folkmoot_protocol::{TensorSchema, TensorSpec, codec::Recipe};

/// Everything that a target allocates is counted, and refused above the limit: the fuzzer then keeps the input.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The bytes of every codec, as hexadecimal numbers after its text.
const GOLDEN: &str = include_str!("../../../client-sdk/update/fixtures/golden.txt");

/// The models: that of the golden bytes first.
const SHAPES: [&[&[u64]]; 5] = [
    &[&[10, 15], &[]],
    &[&[300, 7], &[3], &[0], &[5, 4, 2]],
    &[&[65_536 + 700]],
    &[&[], &[1], &[2, 1], &[1, 900]],
    &[],
];

/// Runs with at most so many bytes allocated beyond what is now.
pub fn within<R>(bytes: usize, run: impl FnOnce() -> R) -> R {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + bytes).expect("the limit is above what is allocated");
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).expect("there is no larger limit");
    result
}

/// Readies a target: writes its seeds where that is asked for, and lets a panic be told without the limit.
pub fn prepare(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let tell_and_abort = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        ALLOCATOR.set_limit(usize::MAX).expect("there is no larger limit");
        tell_and_abort(panic);
    }));
    seeds::write(seeds);
}

/// Returns what a decoder of a model may allocate: a tile, its bytes and what is between the two, at most 32 bytes
/// for each element, and tables.
pub fn decoder_bytes_max(schema: &TensorSchema) -> usize {
    let largest = schema.tensors.iter().filter_map(TensorSpec::element_count).max().unwrap_or(0);
    (192 << 10) + 32 * largest as usize
}

/// Returns the codecs of the golden bytes, each with its payload.
pub fn golden() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let lines = GOLDEN.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(_, bytes)| !bytes.starts_with('=')).map(|(codec, bytes)| {
        let (pairs, _) = bytes.as_bytes().as_chunks::<2>();
        let digit = |digit: u8| (digit as char).to_digit(16).expect("the golden bytes are hexadecimal") as u8;
        (codec, pairs.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect())
    })
}

/// The choices that the first bytes of an input make.
pub struct Choices {
    /// The model.
    pub schema: TensorSchema,
    /// What its payloads must be written with, if anything.
    pub recipe: Option<Recipe>,
    /// The bytes that arrive at a time.
    pub piece: usize,
}

impl Choices {
    /// Reads three bytes: the model, the recipe (0 for none) and the piece.
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
