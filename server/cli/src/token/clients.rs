use folkmoot_api::{Page, clients::ClientView};
use folkmoot_protocol::ClientId;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The flags of `folkmoot token clients`.
#[derive(clap::Args)]
pub struct Args {
    /// The token's name, its id (the part before the dot), or the beginning of its id.
    id: String,
    /// The number of clients to list, at most 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: u32,
    /// List only clients that enrolled earlier than this one, which is the last of the previous page.
    #[arg(long, value_name = "CLIENT")]
    before: Option<ClientId>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists the clients that enrolled with a token, newest first.
///
/// # Errors
/// Fails if there is no such token, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let page = Page { limit: args.limit, before: args.before };
    let clients = args.connection.connect()?.clients_of_token(&args.id, page).await?;
    args.output.print(clients.as_slice(), text)
}

/// Formats clients as a table.
pub(crate) fn text(clients: &[ClientView]) -> String {
    let rows = clients.iter().map(|client| {
        [
            client.id.to_string(),
            client.population.to_string(),
            or_dash(client.token_id.clone()),
            moment(client.enrolled_at),
            or_dash(client.revoked_at.map(moment)),
        ]
    });
    table(["CLIENT", "POPULATION", "TOKEN", "ENROLLED", "REVOKED"], rows)
}
