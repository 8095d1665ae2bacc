#![doc = include_str!("../README.md")]
#![allow(rustdoc::bare_urls, reason = "doc comments of options are help texts for a terminal")]

mod attack;
mod audit;
mod backup;
mod class_tables;
mod client;
mod codec;
mod completions;
mod config;
mod connection;
mod data;
mod doctor;
mod endorsement;
mod engine;
mod error;
mod errors;
mod eval;
mod examples_file;
mod json_lines;
mod key;
mod load;
mod model;
mod openapi;
mod organisation;
mod output;
mod overview;
mod page;
mod population;
mod privacy;
mod replace;
mod rollout;
mod serve;
mod session;
mod sessions;
mod sign_in;
mod simulate;
mod site;
mod statistics;
mod system;
mod task;
mod task_called;
mod token;
mod usage;
mod words;

use clap::{Parser, Subcommand};
pub use error::CliError;
use futures::future::LocalBoxFuture;

/// Federated learning: run a coordinator, and train models on data that stays with its owners.
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
    /// Run a client that trains on local data.
    Client(client::Args),
    /// Run a coordinator and its clients on this machine, and watch them train a model.
    Demo(folkmoot_demo::Args),
    /// Send the requests of many devices to a running coordinator, and report latencies.
    Load(folkmoot_load::Args),
    /// Run a task with virtual clients on this machine, and write results and a report.
    Simulate(simulate::Args),
    /// Attack a task before clients have it, and report what the attacks have found.
    Attack(folkmoot_attack::Args),
    /// Sign in with your organisation's identity provider.
    Login(sign_in::login::Args),
    /// End the session of `folkmoot login`.
    Logout(sign_in::logout::Args),
    /// Show who you are to a coordinator, and your role.
    Whoami(connection::CoordinatorArgs),
    /// Show a summary of a coordinator's activity.
    Overview(connection::CoordinatorArgs),
    /// Show the state of a coordinator's process and its latest log lines.
    System(system::Args),
    /// Create, watch and control tasks.
    #[command(subcommand)]
    Task(task::Command),
    /// Upload models, and download trained versions.
    #[command(subcommand)]
    Model(model::Command),
    /// Give models to the apps of a population, step by step, and take them back.
    #[command(subcommand)]
    Rollout(rollout::Command),
    /// List populations, look up and revoke clients, and change privacy settings.
    #[command(subcommand)]
    Population(population::Command),
    /// List and revoke the named sites of a population.
    #[command(subcommand)]
    Site(site::Command),
    /// Create, list and revoke enrolment tokens.
    #[command(subcommand)]
    Token(token::Command),
    /// Create, list, rotate, revoke and recover API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// List and end the sessions of people and keys.
    #[command(subcommand)]
    Session(session::Command),
    /// Create, list and close organisations that share a coordinator.
    #[command(subcommand)]
    Organisation(organisation::Command),
    /// Show the organisation's quotas, and the usage of its clients.
    Usage(usage::DaysArgs),
    /// Endorse tasks: sign their models and plans with a key that the coordinator does not have.
    #[command(subcommand)]
    Endorsement(endorsement::Command),
    /// List, verify and export the audit log.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Plan differential privacy, show a task's guarantee, and verify the privacy ledger.
    #[command(subcommand)]
    Privacy(privacy::Command),
    /// Evaluate a model's loss and accuracy on local data.
    Eval(eval::Args),
    /// Measure the size and the error of compressed updates.
    #[command(subcommand)]
    Codec(codec::Command),
    /// Turn images, and tables with texts, dates and gaps, into numbers.
    #[command(subcommand)]
    Data(data::Command),
    /// Compute means, deviations and histograms of the tables of a population.
    #[command(subcommand)]
    Statistics(statistics::Command),
    /// Inspect, check and train models on this machine, without a coordinator.
    #[command(subcommand)]
    Engine(engine::Command),
    /// Validate or print the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Check an installation, and print a remedy for every fault. Changes nothing.
    Doctor(doctor::Args),
    /// Save a coordinator into a folder.
    Backup(backup::save::Args),
    /// Restore a backup, also into PostgreSQL or an object storage.
    Restore(backup::restore::Args),
    /// Delete models and weights that nothing needs.
    Prune(backup::prune::Args),
    /// Explain error codes.
    Errors(errors::Args),
    /// Print the completion script of a shell.
    Completions(completions::Args),
    /// Print the OpenAPI document of the API.
    #[command(hide = true)]
    Openapi,
}

impl Cli {
    /// Runs the command to its end.
    ///
    /// The future is boxed here so that its code is generated in this crate. Otherwise it would be generated with
    /// `main.rs`, which is compiled last and alone.
    ///
    /// # Errors
    /// [`CliError`] says what happened and what to do.
    pub fn run(self) -> LocalBoxFuture<'static, Result<(), CliError>> {
        match self.command {
            Command::Serve(args) => Box::pin(serve::run(args)),
            Command::Client(args) => Box::pin(client::run(args)),
            Command::Demo(args) => Box::pin(async { Ok(folkmoot_demo::run(args).await?) }),
            Command::Load(args) => Box::pin(load::run(args)),
            Command::Simulate(args) => Box::pin(simulate::run(args)),
            Command::Attack(args) => Box::pin(attack::run(args)),
            Command::Login(args) => Box::pin(sign_in::login::run(args)),
            Command::Logout(args) => Box::pin(sign_in::logout::run(args)),
            Command::Whoami(args) => Box::pin(sign_in::whoami::run(args)),
            Command::Overview(args) => Box::pin(overview::run(args)),
            Command::System(args) => Box::pin(system::run(args)),
            Command::Task(command) => Box::pin(command.run()),
            Command::Model(command) => Box::pin(command.run()),
            Command::Rollout(command) => Box::pin(command.run()),
            Command::Population(command) => Box::pin(command.run()),
            Command::Site(command) => Box::pin(command.run()),
            Command::Token(command) => Box::pin(command.run()),
            Command::Key(command) => Box::pin(command.run()),
            Command::Session(command) => Box::pin(command.run()),
            Command::Organisation(command) => Box::pin(command.run()),
            Command::Usage(args) => Box::pin(usage::run(args)),
            Command::Endorsement(command) => Box::pin(command.run()),
            Command::Audit(command) => Box::pin(command.run()),
            Command::Privacy(command) => Box::pin(command.run()),
            Command::Eval(args) => Box::pin(eval::run(args)),
            Command::Codec(command) => Box::pin(command.run()),
            Command::Data(command) => Box::pin(command.run()),
            Command::Statistics(command) => Box::pin(command.run()),
            Command::Engine(command) => Box::pin(command.run()),
            Command::Config(command) => Box::pin(command.run()),
            Command::Doctor(args) => Box::pin(doctor::run(args)),
            Command::Backup(args) => Box::pin(backup::save::run(args)),
            Command::Restore(args) => Box::pin(backup::restore::run(args)),
            Command::Prune(args) => Box::pin(backup::prune::run(args)),
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
