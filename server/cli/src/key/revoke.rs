use serde_json::json;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The arguments of `folkmoot key revoke`.
#[derive(clap::Args)]
pub struct Args {
    /// The key's name, its id (the part before the dot), or the beginning of its id.
    id: String,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revokes an API key.
///
/// # Errors
/// Fails if there is no such key, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    args.connection.connect()?.revoke_api_key(&args.id).await?;
    args.output.print(&json!({ "revoked": args.id }), |_| format!("API key {} is revoked", args.id))
}
