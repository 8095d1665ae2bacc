use folkmoot_api::organisations::OrganisationView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists organisations, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let organisations = args.connection.connect()?.organisations().await?;
    args.output.print(organisations.as_slice(), text)
}

fn text(organisations: &[OrganisationView]) -> String {
    let rows = organisations.iter().map(|organisation| {
        [
            organisation.id.to_string(),
            organisation.name.clone(),
            moment(organisation.created_at),
            or_dash(organisation.closed_at.map(moment)),
        ]
    });
    table(["ORGANISATION", "NAME", "CREATED", "CLOSED"], rows)
}
