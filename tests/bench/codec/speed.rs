//! Measures the speed of the codecs relative to a plain copy:
//! `cargo run --release -p folkmoot-update --example codec_speed [-- CODEC] [--quick] [--runs=N] [--json]`.
//!
//! This is an example of `folkmoot-update`, so that it builds without the server. Its source is in this folder because
//! it reads the clock.

use std::hint::black_box;
use std::time::Instant;

use folkmoot_protocol::{TensorSchema, TensorSpec};
use folkmoot_update::codec::{Codec, Decoder, Recipe, TileValues, encode, measure};

const CODECS: [&str; 21] = [
    "none",
    "fp16",
    "bf16",
    "fixed:8",
    "fixed:4,rotated=true",
    "qsgd:15",
    "ternary",
    "one_bit",
    "sign",
    "random_k:0.1",
    "top_k:0.01",
    "top_k:0.1",
    "threshold:3",
    "low_rank:4,iterations=1",
    "drive",
    "eden:1",
    "eden:2",
    "eden:4",
    "eden:4,block=65536",
    "weights:8",
    "weights:4",
];

/// The speeds of one codec, in gigabytes of float32 per second and relative to a copy.
#[derive(serde::Serialize)]
struct Line {
    codec: String,
    lossless: bool,
    encode_gigabytes: f64,
    decode_gigabytes: f64,
    encode_of_copy: f64,
    decode_of_copy: f64,
    bits_per_value: f64,
    normalised_error: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let only = arguments.iter().skip(1).find(|argument| !argument.starts_with("--"));
    let rows = if has("--quick") { 256 } else { 1024 };
    // Use the fastest of many runs, because other programs may slow down the machine.
    let most = arguments.iter().find_map(|argument| argument.strip_prefix("--runs="));
    let most = most.map(|number| number.parse().expect("--runs= takes a number"));
    let runs = most.unwrap_or(if has("--quick") { 3 } else { 9 });
    let tensor = TensorSpec { name: "weight".to_owned(), shape: vec![rows, 4096] };
    let schema = TensorSchema { tensors: vec![tensor] };
    let values = normal_values(rows as usize * 4096);
    let gigabytes = 4.0 * values.len() as f64 / 1e9;
    let mut sum = vec![0.0f32; values.len()];
    let copy = best(runs, || {
        sum.copy_from_slice(&values);
        black_box(&mut sum);
    });
    let mut lines = Vec::new();
    for text in CODECS.iter().filter(|text| only.is_none_or(|only| only == *text)) {
        for lossless in [false, true] {
            let codec: Codec = text.parse().expect("the list has codecs");
            let recipe = Recipe { lossless, ..Recipe::of(codec) };
            let mut bytes = Vec::new();
            let encoded = best(runs, || {
                bytes = encode(&schema, &recipe, &values, 7, None).expect("the values are finite").bytes;
            });
            let decoded = best(runs, || fold(&schema, &bytes, &mut sum));
            sum.fill(0.0);
            fold(&schema, &bytes, &mut sum);
            let seen = measure(&values, &sum, bytes.len());
            lines.push(Line {
                codec: (*text).to_owned(),
                lossless,
                encode_gigabytes: gigabytes / encoded,
                decode_gigabytes: gigabytes / decoded,
                encode_of_copy: copy / encoded,
                decode_of_copy: copy / decoded,
                bits_per_value: 32.0 / seen.ratio,
                normalised_error: seen.normalised_error,
            });
        }
    }
    if has("--json") {
        println!("{}", serde_json::to_string_pretty(&lines).expect("numbers are JSON"));
    } else {
        table(gigabytes / copy, &lines);
    }
}

fn table(copy: f64, lines: &[Line]) {
    println!("a copy: {copy:.1} GB/s; {} values\n", lines.len());
    println!(
        "{:25} {:>8} {:>8} {:>8} {:>8} {:>7} {:>9}",
        "codec", "encode", "/ copy", "decode", "/ copy", "bits", "error"
    );
    for line in lines {
        let stage = if line.lossless { " coded" } else { "" };
        println!(
            "{:25} {:8.2} {:8.3} {:8.2} {:8.3} {:7.3} {:9.5}",
            format!("{}{stage}", line.codec),
            line.encode_gigabytes,
            line.encode_of_copy,
            line.decode_gigabytes,
            line.decode_of_copy,
            line.bits_per_value,
            line.normalised_error
        );
    }
}

/// Adds an update to a sum in the same way as the coordinator.
fn fold(schema: &TensorSchema, bytes: &[u8], sum: &mut [f32]) {
    let mut decoder = Decoder::new(schema);
    for piece in bytes.chunks(64 * 1024) {
        let folded = decoder.push(piece, &mut |tile| -> Result<(), std::convert::Infallible> {
            let sum = &mut sum[tile.first as usize..][..tile.count];
            match tile.values {
                TileValues::Dense(values) => {
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value)
                }
                TileValues::Sparse { positions, values } => {
                    positions.iter().zip(values).for_each(|(at, value)| sum[*at as usize] += value);
                }
            }
            Ok(())
        });
        folded.expect("the payload is whole");
    }
    black_box(sum);
}

/// Returns the duration of the fastest run, in seconds.
fn best(runs: u32, mut run: impl FnMut()) -> f64 {
    let seconds = (0..runs).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min)
}

/// Returns nearly normally distributed values: sums of twelve numbers from a small generator (SplitMix64).
fn normal_values(count: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) >> 40) as f32 / 16_777_216.0 - 0.5
    };
    (0..count).map(|_| (0..12).map(|_| next()).sum()).collect()
}
