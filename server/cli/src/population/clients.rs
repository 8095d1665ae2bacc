use folkmoot_api::populations::{ClientsView, ShareView};
use folkmoot_protocol::PopulationName;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, or_dash},
};

/// The arguments of `folkmoot population clients`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of the population.
    population: PopulationName,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows statistics about a population's clients, never about a single client.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let clients = args.connection.connect()?.population_clients(&args.population).await?;
    args.output.print(&clients, text)
}

fn text(clients: &ClientsView) -> String {
    let ClientsView { enrolled, revoked, .. } = clients;
    let (waiting, training) = (or_dash(clients.waiting), or_dash(clients.training));
    let mut lines =
        vec![format!("{enrolled} enrolled, {waiting} waiting, {training} training, {revoked} revoked")];
    lines.push(share("SDK version", &clients.sdk_versions));
    lines.extend(clients.attributes.iter().map(|(attribute, shares)| share(attribute, shares)));
    let figures = [("examples", &clients.example_counts), ("examples per second", &clients.training_speed)];
    lines.extend(figures.into_iter().filter_map(|(name, shares)| Some(share(name, shares.as_ref()?))));
    lines.extend(clients.withheld.clone());
    lines.join("\n")
}

fn share(name: &str, shares: &[ShareView]) -> String {
    let shares: Vec<String> =
        shares.iter().map(|share| format!("{} {}", share.value, share.clients)).collect();
    format!("{name}: {}", if shares.is_empty() { "-".to_owned() } else { shares.join(", ") })
}
