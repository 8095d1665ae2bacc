use folkmoot_api::api_keys::ApiKeyView;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The flags of `folkmoot key list`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists API keys, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let keys = args.connection.connect()?.api_keys().await?;
    args.output.print(keys.as_slice(), text)
}

fn text(keys: &[ApiKeyView]) -> String {
    let rows = keys.iter().map(|key| {
        [
            key.id.clone(),
            key.name.clone(),
            key.role.name().to_owned(),
            or_dash(key.revoked_at.map(moment)),
            moment(key.created_at),
        ]
    });
    table(["KEY", "NAME", "ROLE", "REVOKED", "CREATED"], rows)
}
