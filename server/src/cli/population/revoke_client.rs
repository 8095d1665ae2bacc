use folkmoot_protocol::ClientId;
use serde_json::json;

use crate::cli::{CliError, connection::ConnectionArgs, output::OutputArgs};

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

/// Revokes a client's key: the coordinator takes no request of it any more.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    args.connection.connect()?.revoke_client(args.client).await?;
    args.output.print(&json!({ "revoked": args.client }), |_| format!("client {} is revoked", args.client))
}
