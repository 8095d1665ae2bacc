use serde_json::json;

use crate::cli::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// Which token.
#[derive(clap::Args)]
pub struct Args {
    /// The token's public part, before the point.
    id: String,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revokes an enrolment token.
///
/// # Errors
/// If there is no such token, or the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    args.connection.connect()?.revoke_token(&args.id).await?;
    args.output.print(&json!({ "revoked": args.id }), |_| format!("token {} is revoked", args.id))
}
