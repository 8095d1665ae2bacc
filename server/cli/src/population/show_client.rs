use folkmoot_protocol::ClientId;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, token::clients::text};

/// Which client.
#[derive(clap::Args)]
pub struct Args {
    /// Its id, as its own log and the coordinator's show it.
    client: ClientId,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows when a client enrolled, and with which token.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let client = args.connection.connect()?.client(args.client).await?;
    args.output.print(&client, |client| text(std::slice::from_ref(client)))
}
