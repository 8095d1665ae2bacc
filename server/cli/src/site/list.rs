use folkmoot_api::sites::{SiteFailureView, SitesView};
use folkmoot_protocol::{ClientId, PopulationName};

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The flags of `folkmoot site list`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of the population.
    population: PopulationName,
    /// The number of sites to list, at most 100.
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: u32,
    /// List only sites after the site of this client, the last one of the previous page.
    #[arg(long, value_name = "CLIENT")]
    after: Option<ClientId>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists the sites of a population by name.
///
/// # Errors
/// Fails if the population is a crowd, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let sites = args.connection.connect()?.sites(&args.population, args.limit, args.after).await?;
    args.output.print(&sites, text)
}

fn text(view: &SitesView) -> String {
    let rows = view.sites.iter().map(|site| {
        let attributes: Vec<String> =
            site.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [
            site.name.clone(),
            or_dash(site.last_seen_at.map(moment)),
            or_dash(site.sdk_version.clone()),
            or_dash(Some(attributes.join(", ")).filter(|list| !list.is_empty())),
            or_dash(site.failures),
            or_dash(site.last_failure.as_ref().map(failure)),
            or_dash(site.revoked_at.map(moment)),
            site.client.to_string(),
        ]
    });
    let headings =
        ["SITE", "LAST SEEN", "SDK", "ATTRIBUTES", "FAILURES", "LAST FAILURE", "REVOKED", "CLIENT"];
    let withheld = view.withheld.as_ref().map_or(String::new(), |why| format!("\n\n{why}"));
    table(headings, rows) + &withheld
}

fn failure(failure: &SiteFailureView) -> String {
    let why = failure.reason.as_ref().unwrap_or(&failure.kind);
    let detail = failure.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
    format!("{why}{detail}, {}", moment(failure.at))
}
