use folkmoot_api::clients::RevokedClient;
use folkmoot_protocol::ClientId;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// Which client.
#[derive(clap::Args)]
pub struct Args {
    /// Its id, as its own log and the coordinator's show it.
    client: ClientId,
    /// Let new clients go on enrolling with its token. A device that still has the token can then come back with a new key.
    #[arg(long)]
    keep_token_open: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revokes a client's key: the coordinator takes no request of it any more. Its token enrols no new clients, unless it is kept
/// open.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let revoked = args.connection.connect()?.revoke_client(args.client, args.keep_token_open).await?;
    args.output.print(&revoked, text)
}

fn text(revoked: &RevokedClient) -> String {
    let id = revoked.client.id;
    match (&revoked.client.token_id, revoked.token_closed) {
        (None, _) => format!(
            "client {id} is revoked; its token is not known, so revoke the tokens that it may have, or it may enrol again"
        ),
        (Some(token), true) => format!(
            "client {id} is revoked, and its token {token} is closed: it enrols no new clients, the others that it enrolled \
             go on"
        ),
        (Some(token), false) => {
            format!(
                "client {id} is revoked; its token {token} is open, so the device may enrol again with a new key"
            )
        }
    }
}
