//! Measures training steps of burn for the benchmarks.
//!
//! - With `--peer`, for `cargo xtask bench train --with-burn`: measures CPU time on the `flex` backend. Takes the same
//!   arguments as `peers/train_peers.py` and prints the same JSON object. It has one thread, because burn's feature
//!   `rayon` is off.
//! - With `--backend`, for `cargo xtask bench gpu`: measures wall-clock time on `flex` or, with the feature `gpu`, on
//!   `wgpu`.

mod backend;
#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../../src/clock.rs"]
mod clock;
mod cpu;
mod draws;
mod examples;
mod layers;
mod models;
#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../../src/process.rs"]
mod process;
#[path = "../../src/train/timing.rs"]
mod timing;
mod training;
mod wall;
mod weights;

use std::path::PathBuf;

use backend::Backend;
use clap::Parser;
use models::ModelName;

/// The error of any part of a benchmark.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The version of burn, as in the manifest.
const VERSION: &str = "0.22.1";

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    model: ModelName,
    /// Folder with `weights.f32` in schema order, `features.f32` and `labels.i32`; without it, the data is random
    #[arg(long)]
    folder: Option<PathBuf>,
    #[arg(long, default_value_t = 0.01)]
    learning_rate: f32,
    /// Measure CPU time; the value is the name of this program as a peer
    #[arg(long, requires = "folder", conflicts_with = "backend", required_unless_present = "backend")]
    peer: Option<String>,
    /// Steps of the peer before its loss is read
    #[arg(long, default_value_t = 20)]
    checked_steps: u32,
    /// Measure wall-clock time on this backend
    #[arg(long)]
    backend: Option<Backend>,
    #[command(flatten)]
    wall: wall::Arguments,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    match arguments.backend {
        Some(backend) => wall::run(backend, &arguments),
        None => cpu::run(&arguments),
    }
}
