use folkmoot_api::clients::RevokedClient;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The arguments of `folkmoot population revoke-client`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of a site, the client's id, or the beginning of it. The logs of the client and the coordinator show the
    /// id.
    client: String,
    /// Do not close the client's enrolment token. A device that still has the token can then enrol again with a new
    /// key.
    #[arg(long)]
    keep_token_open: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revokes a client: the coordinator rejects all of its requests. Also closes its enrolment token to new clients,
/// unless `--keep-token-open` is set.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let revoked = args.connection.connect()?.revoke_client(args.client, args.keep_token_open).await?;
    args.output.print(&revoked, text)
}

fn text(revoked: &RevokedClient) -> String {
    let id = revoked.client.id;
    match (&revoked.client.token_id, revoked.token_closed) {
        (None, _) => format!(
            "client {id} is revoked. Its enrolment token is unknown: revoke every token that it may have, or it can enrol again"
        ),
        (Some(token), true) => format!(
            "client {id} is revoked. Its token {token} is closed to new clients; other clients that enrolled with it keep \
             working"
        ),
        (Some(token), false) => {
            format!(
                "client {id} is revoked. Its token {token} is still open, so the device can enrol again with a new key"
            )
        }
    }
}
