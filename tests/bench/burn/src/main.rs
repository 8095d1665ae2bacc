//! Measures a training step of burn's `flex` backend for `cargo xtask bench train --with-burn`.
//!
//! Takes the arguments of `peers/train_peers.py` and prints the same JSON object. Without burn's `rayon` feature there
//! is one thread.

#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../../src/clock.rs"]
mod clock;
mod model;
#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../../src/process.rs"]
mod process;
#[path = "../../src/train/timing.rs"]
mod timing;

use std::{fs, path::PathBuf};

use clap::Parser;
use model::{Batch, Model};

/// What any part of a benchmark may fail with.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// As in the dependency.
const VERSION: &str = "0.22.1";

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    peer: String,
    #[arg(long)]
    model: String,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    learning_rate: f32,
    #[arg(long)]
    checked_steps: u32,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let words = |name: &str| -> Result<Vec<[u8; 4]>, Failure> {
        Ok(fs::read(arguments.folder.join(name))?.as_chunks().0.to_vec())
    };
    let floats =
        |name| Ok::<_, Failure>(words(name)?.into_iter().map(f32::from_le_bytes).collect::<Vec<_>>());
    let labels = words("labels.i32")?.into_iter().map(i32::from_le_bytes).collect();
    let batch = Batch::new(floats("features.f32")?, labels);
    let mut model = match arguments.model.as_str() {
        "2nn" => Model::two_nn(&floats("weights.f32")?),
        "cnn" => Model::cnn(&floats("weights.f32")?),
        other => return Err(format!("there is no model {other}").into()),
    };
    let mut loss = f32::NAN;
    for _ in 0..arguments.checked_steps {
        loss = model.step(&batch, arguments.learning_rate);
    }
    let cpu_ms = timing::milliseconds(|| {
        model.step(&batch, arguments.learning_rate);
        Ok(())
    })?;
    let peak_memory_mib = process::peak_memory(std::process::id())? as f64 / f64::from(1 << 20);
    debug_assert!(timing::is_cpu_time(), "{} is measured by the clock", arguments.peer);
    println!(
        r#"{{"cpu_ms": {cpu_ms}, "loss": {loss}, "peak_memory_mib": {peak_memory_mib}, "version": "{VERSION}"}}"#
    );
    Ok(())
}
