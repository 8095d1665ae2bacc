//! `folkmoot engine …`: the training engine on this machine, without a coordinator.

mod check;
mod curve;
mod devices;
mod inspect;
mod plan;
mod processor;
mod profile;
mod train;

use std::path::Path;

use clap::Subcommand;
use folkmoot_client::{ModelFile, read_model_file};
use folkmoot_engine::{ImportLimits, Model};

use super::CliError;

/// The subcommands of `folkmoot engine`.
#[derive(Subcommand)]
pub enum Command {
    /// List the devices that can train models, with their measured speed.
    Devices(devices::Args),
    /// Show a model's tensors and operators, and the cost of a training step.
    Inspect(inspect::Args),
    /// Compare a model's output with that of tract, and its gradients with finite differences.
    Check(check::Args),
    /// Train a model on local data.
    Train(Box<train::Args>),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or written, or if the model, the plan and the data do not fit each other.
    pub async fn run(self) -> Result<(), CliError> {
        let run = tokio::task::spawn_blocking(move || match self {
            Self::Devices(args) => devices::run(&args),
            Self::Inspect(args) => inspect::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Train(args) => train::run(&args),
        });
        run.await.map_err(|error| {
            CliError::new(format!("the engine was interrupted: {error}; run the command again"))
        })?
    }
}

/// Reads a model, and the file that holds it.
fn read_model(path: &Path) -> Result<(ModelFile, Model), CliError> {
    let file = read_model_file(path)?;
    let model = Model::from_onnx(&file.onnx, &ImportLimits::default()).map_err(failed(path))?;
    Ok((file, model))
}

/// Adds the path of a file to an error.
fn failed<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> CliError + '_ {
    move |error| CliError::new(format!("{}: {error}", path.display()))
}
