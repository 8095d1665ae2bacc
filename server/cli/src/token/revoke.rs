use serde_json::json;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot token revoke`.
#[derive(clap::Args)]
pub struct Args {
    /// The token's name, its id (the part before the dot), or the beginning of its id.
    id: String,
    /// Also revoke every client that enrolled with the token. This needs an admin key.
    #[arg(long)]
    with_clients: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revokes an enrolment token, and with `--with-clients` its clients.
///
/// # Errors
/// Fails if there is no such token, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    if args.with_clients {
        let revoked = admin.revoke_token_and_clients(&args.id).await?;
        return args.output.print(&revoked, |revoked| {
            let clients = match revoked.clients_revoked {
                1 => "1 client is".to_owned(),
                count => format!("{count} clients are"),
            };
            format!("token {} is revoked, and {clients} revoked with it", revoked.token_id)
        });
    }
    admin.revoke_token(&args.id).await?;
    args.output.print(&json!({ "revoked": args.id }), |_| {
        format!("token {} is revoked; clients that enrolled with it keep working", args.id)
    })
}
