use folkmoot_api::populations::SetPrivacyRequest;
use folkmoot_coordinator::ClientKind;
use folkmoot_privacy::Unit;
use folkmoot_protocol::PopulationName;

use super::list::text;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot population set`. Omitted settings keep their values.
#[derive(clap::Args)]
pub struct Args {
    /// The population. It is created if it does not exist.
    population: PopulationName,
    /// The kind of clients: `crowd` for anonymous clients, of which you see only counts, or `sites` for named ones. It can
    /// be changed only before the first client enrols.
    #[arg(long, value_name = "crowd|sites")]
    clients: Option<ClientKind>,
    /// Allow (true) or forbid (false) viewers and privacy officers to download the models of the population's tasks.
    /// Operators and admins always may.
    #[arg(long, value_name = "true|false")]
    viewers_download: Option<bool>,
    /// The unit of privacy. It can be changed only before the first client enrols.
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
    /// The total epsilon that all tasks may spend for one client or user: greater than 0, at most 1000.
    #[arg(long, requires = "delta")]
    epsilon: Option<f64>,
    /// The delta for this epsilon: the probability with which epsilon may fail to hold. Choose a value well below 1 /
    /// clients.
    #[arg(long, requires = "epsilon")]
    delta: Option<f64>,
    /// Remove the population's budget. Only the tasks' own budgets apply.
    #[arg(long, conflicts_with_all = ["epsilon", "delta"])]
    no_budget: bool,
    /// The reason for weakening the guarantee. It is required to raise or remove the budget, and is written to the
    /// population's ledger.
    #[arg(long, value_name = "REASON")]
    weaken: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The units of privacy.
#[derive(Clone, Copy, clap::ValueEnum)]
enum UnitArg {
    /// One enrolled client.
    Client,
    /// One person with all their devices. Every enrolment token must name its user.
    User,
}

/// Changes a population's privacy settings, the kind of its clients, and who may download its models.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let unit = args.unit.map(|unit| match unit {
        UnitArg::Client => Unit::Client,
        UnitArg::User => Unit::User,
    });
    let (epsilon, delta) = (args.epsilon, args.delta);
    let request = SetPrivacyRequest { unit, epsilon, delta, no_budget: args.no_budget, weaken: args.weaken };
    let kept = SetPrivacyRequest::default();
    let mut set = None;
    if let Some(clients) = args.clients {
        set = Some(admin.set_client_kind(&args.population, clients).await?);
    }
    if let Some(may_download) = args.viewers_download {
        set = Some(admin.set_viewers_download(&args.population, may_download).await?);
    }
    // Privacy settings and the kind of clients need different roles.
    let population = match set.filter(|_| request == kept) {
        Some(population) => population,
        None => admin.set_population_privacy(&args.population, &request).await?,
    };
    args.output.print(&population, |population| text(std::slice::from_ref(population)))
}
