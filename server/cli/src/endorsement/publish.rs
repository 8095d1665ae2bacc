use std::path::PathBuf;

use super::folder;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot endorsement publish`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder with the signed statement.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Publishes the signed statement in a folder.
///
/// # Errors
/// Fails if the file cannot be read, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let (endorsement, statement) = folder::endorsement(&args.folder)?;
    let (task, number) = (statement.task_id, statement.sequence);
    let published = args.connection.connect()?.publish_endorsement(task, &endorsement).await?;
    args.output.print(&published, |_| format!("task {task}: endorsement {number} is in force"))
}
