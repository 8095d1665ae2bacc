use folkmoot_protocol::DisplayName;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot organisation create`.
#[derive(clap::Args)]
pub struct Args {
    /// A name that no other organisation has.
    name: DisplayName,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Creates an organisation, and prints its first API key alone on one line. It is shown only once.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let created = args.connection.connect()?.create_organisation(args.name).await?;
    args.output.print(&created, |created| created.first_key.api_key.clone())
}
