use folkmoot_protocol::ClientId;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, token::clients::text};

/// The arguments of `folkmoot population show-client`.
#[derive(clap::Args)]
pub struct Args {
    /// The client's id, as shown in the logs of the client and the coordinator.
    client: ClientId,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows when a client enrolled, and with which token.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let client = args.connection.connect()?.client(args.client).await?;
    args.output.print(&client, |client| text(std::slice::from_ref(client)))
}
