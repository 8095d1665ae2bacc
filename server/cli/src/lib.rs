#![doc = include_str!("../README.md")]
#![allow(rustdoc::bare_urls, reason = "what is said of an option is its help, which is no page")]

#[cfg(test)]
mod beside_console;
mod chart;
mod client;
mod codec;
mod completions;
mod config;
mod connection;
pub mod demo;
mod engine;
mod error;
mod errors;
mod eval;
mod examples_file;
mod key;
mod model;
mod openapi;
mod output;
mod overview;
mod page;
mod population;
mod privacy;
mod replace;
mod serve;
pub mod settings;
mod simulate;
mod stop_signal;
mod system;
mod task;
mod token;
mod words;

use clap::{Parser, Subcommand};
pub use error::CliError;
use futures::future::LocalBoxFuture;

/// Federated learning: a coordinator that anyone can run, and clients that train where the data lives.
#[derive(Parser)]
#[command(name = "folkmoot", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a coordinator.
    Serve(serve::Args),
    /// Run an edge client on local data.
    Client(client::Args),
    /// Run a coordinator and its clients on this machine, and watch a model being trained.
    Demo(demo::Args),
    /// Run a task over virtual clients on this machine, with results and a report.
    Simulate(simulate::Args),
    /// Show what a coordinator is doing, at a glance.
    Overview(overview::Args),
    /// Show how a coordinator's process is, and what it logged last.
    System(system::Args),
    /// Create, watch and change tasks.
    #[command(subcommand)]
    Task(task::Command),
    /// Bring models, and download what was trained.
    #[command(subcommand)]
    Model(model::Command),
    /// List populations, and say what holds for everybody in one.
    #[command(subcommand)]
    Population(population::Command),
    /// Hand out enrolment tokens.
    #[command(subcommand)]
    Token(token::Command),
    /// Hand out API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// Plan privacy, say what a task promises, and check the ledger of what was spent.
    #[command(subcommand)]
    Privacy(privacy::Command),
    /// Measure a model's loss and accuracy on local data.
    Eval(eval::Args),
    /// Measure what compressing an update saves and loses.
    #[command(subcommand)]
    Codec(codec::Command),
    /// Inspect, check and train models on this machine, without a coordinator.
    #[command(subcommand)]
    Engine(engine::Command),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Explain error codes.
    Errors(errors::Args),
    /// Print the completions of a shell.
    Completions(completions::Args),
    /// Print the description of the API.
    #[command(hide = true)]
    Openapi,
}

impl Cli {
    /// Runs the command to its end.
    ///
    /// The future is boxed here: a future's code is generated where it is first used as a value of a known type, and
    /// `main.rs` is compiled last and alone.
    ///
    /// # Errors
    /// [`CliError`] says what is wrong and what to do.
    pub fn run(self) -> LocalBoxFuture<'static, Result<(), CliError>> {
        match self.command {
            Command::Serve(args) => Box::pin(serve::run(args)),
            Command::Client(args) => Box::pin(client::run(args)),
            Command::Demo(args) => Box::pin(async { Ok(demo::run(args).await?) }),
            Command::Simulate(args) => Box::pin(simulate::run(args)),
            Command::Overview(args) => Box::pin(overview::run(args)),
            Command::System(args) => Box::pin(system::run(args)),
            Command::Task(command) => Box::pin(command.run()),
            Command::Model(command) => Box::pin(command.run()),
            Command::Population(command) => Box::pin(command.run()),
            Command::Token(command) => Box::pin(command.run()),
            Command::Key(command) => Box::pin(command.run()),
            Command::Privacy(command) => Box::pin(command.run()),
            Command::Eval(args) => Box::pin(eval::run(args)),
            Command::Codec(command) => Box::pin(command.run()),
            Command::Engine(command) => Box::pin(command.run()),
            Command::Config(command) => Box::pin(async { command.run() }),
            Command::Errors(args) => Box::pin(async move { errors::run(&args) }),
            Command::Completions(args) => Box::pin(async { completions::run(args) }),
            Command::Openapi => Box::pin(async { openapi::run() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_has_no_contradictions() {
        Cli::command().debug_assert();
    }
}
