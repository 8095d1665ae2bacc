//! `cargo xtask bench …`: every figure of `docs/benchmarks.md`, as ratios within one run.

mod clock;
mod database;
mod folder;
mod gpu;
mod host;
mod ingest;
mod privacy;
mod process;
mod reproduce;
mod siege;
mod simulate;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What any part of a benchmark may fail with.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Measures, and prints ratios against a peer or a limit of the same run"
)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The coordinator: model down and update up, and the bare fold in memory
    Ingest(ingest::Arguments),
    /// What two statements cost a device's requests: the nonce that processes share, and the lock of a check-in
    Database(database::Arguments),
    /// The noise of differential privacy: drawing it beside opendp alone, and what a commit waits for
    Privacy(privacy::Arguments),
    /// A training step on one thread: our executor beside other frameworks and the bare matrix product
    Train(train::Arguments),
    /// Training steps on a graphics adapter, beside burn and the CPU, and large products against its peak
    Gpu(gpu::Arguments),
    /// A published experiment, in the simulator: what was published beside what comes out here
    Reproduce(reproduce::Arguments),
    /// Floods from somebody without credentials: what each costs twenty honest clients
    Siege(siege::Arguments),
    /// Virtual clients: how many, how fast and how large, beside Flower's simulation
    Simulate(simulate::Arguments),
    /// A coordinator in a process of its own, for the other benchmarks to measure
    #[command(hide = true)]
    Host(host::Arguments),
    /// A server that does nothing but move the bytes
    #[command(hide = true)]
    Floor(ingest::floor::Arguments),
    /// One flood, in a process of its own
    #[command(hide = true)]
    Flood(siege::flood::Arguments),
    /// One simulation, in a process of its own
    #[command(hide = true)]
    Simulator(simulate::simulator::Arguments),
    /// One model on one executor, in a process of its own
    #[command(hide = true)]
    Trainee(train::trainee::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.bench {
        Bench::Ingest(arguments) => ingest::run(&arguments),
        Bench::Database(arguments) => database::run(&arguments),
        Bench::Privacy(arguments) => privacy::run(&arguments),
        Bench::Train(arguments) => train::run(&arguments),
        Bench::Gpu(arguments) => gpu::run(&arguments),
        Bench::Reproduce(arguments) => reproduce::run(&arguments),
        Bench::Siege(arguments) => siege::run(&arguments),
        Bench::Flood(arguments) => siege::flood::run(&arguments),
        Bench::Simulate(arguments) => simulate::run(&arguments),
        Bench::Simulator(arguments) => simulate::simulator::run(&arguments),
        Bench::Host(arguments) => host::run(&arguments),
        Bench::Floor(arguments) => ingest::floor::run(&arguments),
        Bench::Trainee(arguments) => train::trainee::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("the benchmark could not be run: {failure}");
            ExitCode::FAILURE
        }
    }
}
