use folkmoot_api::tokens::TokenView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists enrolment tokens, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let tokens = args.connection.connect()?.tokens().await?;
    args.output.print(tokens.as_slice(), text)
}

fn text(tokens: &[TokenView]) -> String {
    let rows = tokens.iter().map(|token| {
        [
            token.id.clone(),
            or_dash(token.name.clone()),
            token.population.to_string(),
            format!("{}/{}", token.uses, or_dash(token.uses_max)),
            or_dash(token.expires_at.map(moment)),
            or_dash(token.closed_at.map(moment)),
            or_dash(token.revoked_at.map(moment)),
            moment(token.created_at),
        ]
    });
    table(["TOKEN", "NAME", "POPULATION", "USES", "EXPIRES", "CLOSED", "REVOKED", "CREATED"], rows)
}
