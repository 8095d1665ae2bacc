//! `folkmoot model …`

mod create;
mod download;
mod files;
mod list;
mod show;
pub(super) mod weights;

use clap::Subcommand;

use super::{CliError, connection::CoordinatorArgs, page::TaskPageArgs};

/// The subcommands of `folkmoot model`.
#[derive(Subcommand)]
pub enum Command {
    /// Upload an ONNX model, and show its trainable tensors.
    Create(create::Args),
    /// List the uploaded ONNX files, newest first.
    Files(CoordinatorArgs),
    /// Show the contents of an uploaded ONNX file.
    Show(show::Args),
    /// List a task's model versions, newest first.
    List(TaskPageArgs),
    /// Download a model version as ONNX.
    Download(download::Args),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if the coordinator cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), CliError> {
        match self {
            Command::Create(args) => create::run(args).await,
            Command::Files(args) => files::run(args).await,
            Command::Show(args) => show::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Download(args) => download::run(args).await,
        }
    }
}
