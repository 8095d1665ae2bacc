use std::{hint::black_box, path::PathBuf, time::Duration};

use folkmoot_protocol::{Codec, Recipe};
use folkmoot_rounds::clock::stopwatch;
use folkmoot_update::codec::{EncodeError, decode, encode, measure};
use serde::Serialize;

use super::update_file::{self, UpdateFile};
use crate::{
    CliError,
    output::{OutputArgs, table},
};

/// The codecs that are measured by default, each with useful settings.
const CODECS: [&str; 20] = [
    "none",
    "bf16",
    "fp16",
    "fixed:8",
    "fixed:4,rotated=true",
    "qsgd:15",
    "ternary",
    "one_bit",
    "sign",
    "random_k:0.1",
    "top_k:0.1",
    "top_k:0.01",
    "deep_gradient:0.01",
    "low_rank:4",
    "sufficient_factors:8",
    "drive",
    "eden:1",
    "eden:2",
    "eden:4",
    "weights:8",
];
/// The time for which each measurement is repeated.
const REPEATED_FOR: Duration = Duration::from_millis(100);

/// The flags of `folkmoot codec bench`.
#[derive(clap::Args)]
pub struct Args {
    /// An update file of a client, or an ONNX model after training.
    file: PathBuf,
    /// The ONNX model before training.
    #[arg(long, value_name = "MODEL.onnx")]
    base: Option<PathBuf>,
    /// Measure only this codec. Can be repeated.
    #[arg(long, value_name = "CODEC")]
    codec: Vec<Codec>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The results of all codecs.
#[derive(Serialize)]
struct Benched {
    values: usize,
    bytes_as_float32: u64,
    /// The speed of a plain copy of the values in the same run.
    copy_gigabytes_per_second: f64,
    codecs: Vec<Line>,
}

/// The result of one codec.
#[derive(Serialize)]
struct Line {
    codec: String,
    bytes: u64,
    times_fewer: f64,
    bits_per_value: f64,
    /// The squared error over the squared norm.
    normalised_error: f64,
    is_unbiased: bool,
    /// The encoding speed. Encoding and decoding speeds are in gigabytes of float32 values.
    encode_gigabytes_per_second: f64,
    decode_gigabytes_per_second: f64,
}

/// Compresses an update with every codec and reports the size, the error and the speed on this machine.
///
/// # Errors
/// If a file cannot be read or is not an update, or if a value is not finite.
pub fn run(args: &Args) -> Result<(), CliError> {
    let update = update_file::read(&args.file, args.base.as_deref())?;
    let all = || CODECS.iter().map(|text| text.parse().expect("the list has codecs")).collect();
    let codecs: Vec<Codec> = if args.codec.is_empty() { all() } else { args.codec.clone() };
    let dense = 4.0 * update.values.len() as f64;
    let mut copied = vec![0.0f32; update.values.len()];
    let copy = seconds(|| {
        copied.copy_from_slice(&update.values);
        black_box(&mut copied);
    });
    let lines = codecs.into_iter().map(|codec| line(&update, codec));
    let benched = Benched {
        values: update.values.len(),
        bytes_as_float32: dense as u64,
        copy_gigabytes_per_second: dense / 1e9 / copy,
        codecs: lines.collect::<Result<_, _>>().map_err(|error| CliError::new(error.to_string()))?,
    };
    args.output.print(&benched, text)
}

fn line(update: &UpdateFile, codec: Codec) -> Result<Line, EncodeError> {
    let UpdateFile { schema, values } = update;
    let recipe = Recipe::of(codec);
    let bytes = encode(schema, &recipe, values, 1, None)?.bytes;
    let encoded = seconds(|| {
        let _ = black_box(encode(schema, &recipe, values, 1, None));
    });
    let decoded = seconds(|| {
        let _ = black_box(decode(schema, &bytes));
    });
    let arriving = decode(schema, &bytes).expect("it was encoded just now");
    let measured = measure(values, &arriving, bytes.len());
    let gigabytes = 4.0 * values.len() as f64 / 1e9;
    Ok(Line {
        codec: codec.to_string(),
        bytes: bytes.len() as u64,
        times_fewer: measured.ratio,
        bits_per_value: 32.0 / measured.ratio,
        normalised_error: measured.normalised_error,
        is_unbiased: codec.is_unbiased(),
        encode_gigabytes_per_second: gigabytes / encoded,
        decode_gigabytes_per_second: gigabytes / decoded,
    })
}

/// Runs a function repeatedly and returns the shortest duration, in seconds. Other load on the machine can only make a
/// run longer.
fn seconds(mut run: impl FnMut()) -> f64 {
    let whole = stopwatch();
    let mut least = f64::INFINITY;
    while whole.elapsed() < REPEATED_FOR {
        let one = stopwatch();
        run();
        least = least.min(one.elapsed().as_secs_f64());
    }
    least.max(1e-9)
}

fn text(benched: &Benched) -> String {
    let rows = benched.codecs.iter().map(|line| {
        [
            line.codec.clone(),
            line.bytes.to_string(),
            format!("{:.1}", line.times_fewer),
            format!("{:.2}", line.bits_per_value),
            format!("{:.3e}", line.normalised_error),
            if line.is_unbiased { "yes" } else { "no" }.to_owned(),
            format!("{:.2}", line.encode_gigabytes_per_second),
            format!("{:.2}", line.decode_gigabytes_per_second),
        ]
    });
    let head =
        ["CODEC", "BYTES", "TIMES FEWER", "BITS A VALUE", "ERROR", "UNBIASED", "ENCODE GB/S", "DECODE GB/S"];
    format!(
        "{} values, {} bytes as float32; a copy runs at {:.2} GB/s. ERROR is the squared error over the squared norm.\n\n{}",
        benched.values,
        benched.bytes_as_float32,
        benched.copy_gigabytes_per_second,
        table(head, rows)
    )
}
