//! The training engine on this machine, without a coordinator.

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
use folkmoot_engine::{ImportLimits, Model};

use super::CliError;

/// What to do with the engine.
#[derive(Subcommand)]
pub enum Command {
    /// List what a model can be trained on, and how fast that is.
    Devices(devices::Args),
    /// Show a model's tensors and operators, and what a training step costs.
    Inspect(inspect::Args),
    /// Compare a model's output with tract's, and its gradients with finite differences.
    Check(check::Args),
    /// Train a model on local data.
    Train(train::Args),
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the model, the plan and the data do not go together.
    pub async fn run(self) -> Result<(), CliError> {
        let run = tokio::task::spawn_blocking(move || match self {
            Self::Devices(args) => devices::run(&args),
            Self::Inspect(args) => inspect::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Train(args) => train::run(&args),
        });
        run.await.map_err(|error| CliError::new(format!("the engine was interrupted: {error}")))?
    }
}

/// Reads a model that is to be trained.
fn read_model(path: &Path) -> Result<(Vec<u8>, Model), CliError> {
    let onnx = std::fs::read(path).map_err(CliError::read(path))?;
    let model = Model::from_onnx(&onnx, &ImportLimits::default()).map_err(failed(path))?;
    Ok((onnx, model))
}

/// Names the file that an error is about.
fn failed<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> CliError + '_ {
    move |error| CliError::new(format!("{}: {error}", path.display()))
}
