use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, token::clients::text};

/// The arguments of `folkmoot population show-client`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of a site, the client's id, or the beginning of it. The logs of the client and the coordinator show the
    /// id.
    client: String,
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
