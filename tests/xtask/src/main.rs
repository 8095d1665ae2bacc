//! The project's own commands for tests, benchmarks, generated files and packages. `cargo xtask --help` lists them.
//!
//! # How to add a command
//! Write `<command>.rs` with a struct `Arguments` and a function `run`, and add a variant to [`Command`].

mod bench;
mod campaign;
mod cargo_program;
mod clock;
mod coordinator;
mod digest;
mod docs;
mod document;
mod errors;
mod install;
mod newcomer;
mod openapi;
mod outcome;
mod process;
mod python;
mod release;
mod repeat;
mod reproduce;
mod schema;
mod seed;
mod semver;
mod stages;
mod stamp;
mod strategies;
mod suite;
mod vulkan;
mod wasm;
mod wasm_package;
mod workspace;

use clap::{Parser, Subcommand};
use stages::{console, fuzz, wheel};
use std::process::ExitCode;

/// Commands for developing Folkmoot
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Installs the tools that the tests need, then checks formatting, lints, builds and tests everything
    Test(suite::Arguments),
    /// Runs the tests that take too long for every commit: simulations, fuzzing, audits, memory, mutants
    Campaign(campaign::Arguments),
    /// Repeats tests while other threads keep the processor busy, to find flaky tests
    Repeat(repeat::Arguments),
    /// Writes server/api/openapi.json from the code, or checks that it is up to date
    Openapi(openapi::Arguments),
    /// Writes server/api/task.schema.json and docs/reference/task.md from the code, or checks them
    Schema(schema::Arguments),
    /// Writes docs/reference/errors.md from the code, or checks it
    Errors(errors::Arguments),
    /// Builds the documentation site and checks its links
    Docs(docs::Arguments),
    /// Builds with optimisation and runs one benchmark
    Bench(bench::Arguments),
    /// Builds the browser package and checks its size
    Wasm(wasm_package::Arguments),
    /// Builds the admin console, which the next build of the server embeds
    Console,
    /// Builds the Python wheel
    Python(wheel::Arguments),
    /// Builds with optimisation and repeats one published experiment in the simulator
    Reproduce(reproduce::Arguments),
    /// Makes the files of a release that this platform can make, and tries them where nothing else is installed
    Release(release::Arguments),
    /// Finds changes in the API of the Rust libraries that their version does not allow
    Semver(semver::Arguments),
    /// Builds the WebAssembly components that tests run
    Strategies,
    /// Searches for bytes that make a decoder panic or exceed its memory limit
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    process::end_with_this_program();
    let outcome = match Cli::parse().command {
        Command::Test(arguments) => suite::run(&arguments),
        Command::Campaign(arguments) => campaign::run(&arguments),
        Command::Repeat(arguments) => repeat::run(&arguments),
        Command::Openapi(arguments) => openapi::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Errors(arguments) => errors::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Wasm(arguments) => wasm_package::run(&arguments),
        Command::Console => console::run(),
        Command::Python(arguments) => wheel::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Release(arguments) => release::run(&arguments),
        Command::Semver(arguments) => semver::run(&arguments),
        Command::Strategies => strategies::run_command(),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
