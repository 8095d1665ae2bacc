use folkmoot_api::populations::PopulationView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Lists populations by name.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let populations = args.connection.connect()?.populations().await?;
    args.output.print(populations.as_slice(), text)
}

/// Formats populations as a table.
pub(super) fn text(populations: &[PopulationView]) -> String {
    let rows = populations.iter().map(|population| {
        [
            population.name.to_string(),
            population.client_count.to_string(),
            population.clients.to_string(),
            population.unit.to_string(),
            or_dash(population.epsilon),
            or_dash(population.delta.map(|delta| format!("{delta:e}"))),
            if population.viewers_download { "yes" } else { "no" }.to_owned(),
            moment(population.created_at),
        ]
    });
    table(["POPULATION", "CLIENTS", "KIND", "UNIT", "EPSILON", "DELTA", "VIEWERS DOWNLOAD", "CREATED"], rows)
}
