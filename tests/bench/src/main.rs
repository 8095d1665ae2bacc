//! `cargo xtask bench …`: measures every figure of `docs/benchmarks.md`. The figures are ratios within one run.

mod clock;
mod crowd;
mod database;
mod enrolled;
mod folder;
mod gpu;
mod host;
mod ingest;
mod privacy;
mod process;
mod reproduce;
mod secagg;
mod siege;
mod simulate;
mod tenant;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The error of any part of a benchmark.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Runs benchmarks, and prints ratios to a peer or a limit measured in the same run"
)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Measures the coordinator's cost of an update: model download, update upload, and the fold in memory
    Ingest(ingest::Arguments),
    /// Measures how many devices one coordinator serves: check-ins per second, connected devices, enrolled clients
    #[command(name = "fleet")]
    Crowd(crowd::Arguments),
    /// Measures the cost of an SQL statement in device requests: recording the shared nonce
    Database(database::Arguments),
    /// Measures the speed of drawing noise for differential privacy, compared with opendp, and how long a commit waits
    /// for the noise
    Privacy(privacy::Arguments),
    /// Measures secure aggregation: the time and bytes of a client, and the time to remove the masks, compared with the
    /// cipher alone and with Flower
    Secagg(secagg::Arguments),
    /// Measures a training step, compared with other frameworks and a plain matrix product
    Train(train::Arguments),
    /// Measures training steps on a graphics adapter, compared with burn and the CPU, and large products compared with
    /// the adapter's peak
    Gpu(gpu::Arguments),
    /// Repeats a published experiment in the simulator, and compares the results with the published ones
    Reproduce(reproduce::Arguments),
    /// Measures the effect of floods without credentials on twenty honest clients
    Siege(siege::Arguments),
    /// Measures the speed and memory of simulated clients, compared with Flower's simulation
    Simulate(simulate::Arguments),
    /// A coordinator in a separate process, which the other benchmarks measure
    #[command(hide = true)]
    Host(host::Arguments),
    /// A server that only moves bytes
    #[command(hide = true)]
    Floor(ingest::floor::Arguments),
    /// One flood, in a separate process
    #[command(hide = true)]
    Flood(siege::flood::Arguments),
    /// One simulation, in a separate process
    #[command(hide = true)]
    Simulator(simulate::simulator::Arguments),
    /// The coordinator's part of a round with masks, in a separate process
    #[command(hide = true)]
    SecaggCoordinator(secagg::coordinator::Arguments),
    /// One model on one executor, in a separate process
    #[command(hide = true)]
    Trainee(train::trainee::Arguments),
    /// One larger model on our executor, in a separate process
    #[command(hide = true)]
    LargerTrainee(train::larger::trainee::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.bench {
        Bench::Ingest(arguments) => ingest::run(&arguments),
        Bench::Crowd(arguments) => crowd::run(&arguments),
        Bench::Database(arguments) => database::run(&arguments),
        Bench::Privacy(arguments) => privacy::run(&arguments),
        Bench::Secagg(arguments) => secagg::run(&arguments),
        Bench::Train(arguments) => train::run(&arguments),
        Bench::Gpu(arguments) => gpu::run(&arguments),
        Bench::Reproduce(arguments) => reproduce::run(&arguments),
        Bench::Siege(arguments) => siege::run(&arguments),
        Bench::Flood(arguments) => siege::flood::run(&arguments),
        Bench::Simulate(arguments) => simulate::run(&arguments),
        Bench::Simulator(arguments) => simulate::simulator::run(&arguments),
        Bench::Host(arguments) => host::run(&arguments),
        Bench::Floor(arguments) => ingest::floor::run(&arguments),
        Bench::SecaggCoordinator(arguments) => secagg::coordinator::run(&arguments),
        Bench::Trainee(arguments) => train::trainee::run(&arguments),
        Bench::LargerTrainee(arguments) => train::larger::trainee::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("the benchmark failed: {failure}");
            ExitCode::FAILURE
        }
    }
}
