use folkmoot_api::api_keys::ApiKeyView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists API keys, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let keys = args.connection.connect()?.api_keys().await?;
    args.output.print(keys.as_slice(), text)
}

fn text(keys: &[ApiKeyView]) -> String {
    let rows = keys.iter().map(|key| {
        [
            key.id.clone(),
            key.name.clone(),
            key.role.name().to_owned(),
            or_dash(key.expires_at.map(moment)),
            or_dash(key.revoked_at.map(moment)),
            or_dash(key.last_used_at.map(moment)),
            moment(key.created_at),
            or_dash(key.rotated_at.map(moment)),
            or_dash(key.previous_valid_until.map(moment)),
        ]
    });
    table(
        ["KEY", "NAME", "ROLE", "EXPIRES", "REVOKED", "LAST USED", "CREATED", "ROTATED", "OLD SECRET UNTIL"],
        rows,
    )
}
