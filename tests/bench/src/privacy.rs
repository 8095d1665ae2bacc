//! Measures the speed of drawing noise, compared with opendp, and how long a commit waits for the noise.

use folkmoot_privacy::noise::{NoiseScale, NoiseStock};
use opendp::{
    domains::{AtomDomain, VectorDomain},
    measurements::make_gaussian,
    measures::ZeroConcentratedDivergence,
    metrics::L2Distance,
};
use serde::Serialize;

use crate::{Failure, clock};

/// The scale of the noise in grid steps, for a noise multiplier of 1 and a clipping norm of 1 on the default grid.
const SCALE: f64 = (1u64 << 28) as f64;
const MODEL_PARAMETERS: usize = 10_000_000;
const ROUND_SECONDS: f64 = 60.0;

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Number of values to draw for each line
    #[arg(long, default_value_t = 1_000_000)]
    values: usize,
    /// Number of measurements of each line; the fastest is used
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The measured speeds and times.
#[derive(Serialize)]
struct Measured {
    values: usize,
    /// Values per second of opendp alone, on one thread.
    opendp_per_second: f64,
    /// Values per second of our implementation, on one thread.
    ours_per_second: f64,
    ours_on_all_per_second: f64,
    threads: usize,
    /// Our speed relative to opendp's, on one thread.
    ratio: f64,
    /// Our speed on all threads relative to one thread.
    scaling: f64,
    /// Seconds to draw the noise of 10 million parameters on all threads.
    model_draw_seconds: f64,
    /// Seconds that a commit of 10 million parameters waits after a round of one minute, until the rest of the noise is
    /// drawn and added.
    model_wait_seconds: f64,
}

/// Measures the speeds and prints them.
///
/// # Errors
/// If noise cannot be drawn.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (values, scale) = (arguments.values.max(1), NoiseScale::new(SCALE)?);
    let rate = |seconds: std::time::Duration| values as f64 / seconds.as_secs_f64();
    let domain = VectorDomain::new(AtomDomain::<i64>::default());
    let metric = L2Distance::<f64>::default();
    let alone = make_gaussian::<_, _, ZeroConcentratedDivergence>(domain, metric, SCALE, None)
        .map_err(|error| error.to_string())?;
    let zeros = vec![0; values];
    let mut failure = None;
    let opendp = clock::fastest(arguments.repetitions, || {
        failure = alone.invoke(&zeros).err().map(|error| error.to_string());
    });
    let mut draw = |threads: usize| {
        clock::fastest(arguments.repetitions, || {
            failure = NoiseStock::begin(values, scale, threads).take().err().map(|error| error.to_string());
        })
    };
    let (one, all) = (draw(1), draw(threads));
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let noise = NoiseStock::begin(values, scale, threads).take()?;
    let mut sums = vec![0; values];
    let start = clock::start();
    noise.add_to(&mut sums)?;
    let adding = start.elapsed().as_secs_f64() * MODEL_PARAMETERS as f64 / values as f64;
    let model_draw_seconds = MODEL_PARAMETERS as f64 / rate(all);
    let measured = Measured {
        values,
        opendp_per_second: rate(opendp),
        ours_per_second: rate(one),
        ours_on_all_per_second: rate(all),
        threads,
        ratio: rate(one) / rate(opendp),
        scaling: rate(all) / rate(one),
        model_draw_seconds,
        model_wait_seconds: (model_draw_seconds - ROUND_SECONDS).max(0.0) + adding,
    };
    match arguments.json {
        true => println!("{}", serde_json::to_string(&measured)?),
        false => print(&measured),
    }
    Ok(())
}

fn print(measured: &Measured) {
    let micros = |rate: f64| 1e6 / rate;
    println!("| drawing {} values | microseconds a value | ratio |", measured.values);
    println!("| --- | --- | --- |");
    println!("| opendp alone, one thread | {:.2} | 1 |", micros(measured.opendp_per_second));
    println!(
        "| ours, one thread | {:.2} | {:.2} of opendp's speed |",
        micros(measured.ours_per_second),
        measured.ratio
    );
    println!(
        "| ours, {} threads | {:.2} | {:.2} times one thread |",
        measured.threads,
        micros(measured.ours_on_all_per_second),
        measured.scaling
    );
    println!(
        "\nThe noise of 10 million parameters takes {:.1} s on {} threads; after a round of a minute its commit waits {:.3} s.",
        measured.model_draw_seconds, measured.threads, measured.model_wait_seconds
    );
}
