use folkmoot_api::populations::SetPrivacyRequest;
use folkmoot_privacy::Unit;
use folkmoot_protocol::PopulationName;

use super::list::text;
use crate::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// What is to hold. What is not said stays as it is.
#[derive(clap::Args)]
pub struct Args {
    /// The population; it is made if there is none of this name.
    population: PopulationName,
    /// Whom the promises of its tasks protect; it can be changed only while nobody ever enrolled.
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
    /// What all its tasks together may spend of a client or user: above 0, at most 1000.
    #[arg(long, requires = "delta")]
    epsilon: Option<f64>,
    /// The delta of that epsilon: well below 1 / clients.
    #[arg(long, requires = "epsilon")]
    delta: Option<f64>,
    /// Let only the tasks' own budgets end them.
    #[arg(long, conflicts_with_all = ["epsilon", "delta"])]
    no_budget: bool,
    /// The reason why its tasks may spend more than before: needed to raise the budget or to take it away. It is written
    /// into the population's ledger.
    #[arg(long, value_name = "REASON")]
    weaken: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Whom a promise protects.
#[derive(Clone, Copy, clap::ValueEnum)]
enum UnitArg {
    /// One enrolled device.
    Client,
    /// One person, with all devices: every enrolment token names its user.
    User,
}

/// Says what holds in a population.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let unit = args.unit.map(|unit| match unit {
        UnitArg::Client => Unit::Client,
        UnitArg::User => Unit::User,
    });
    let (epsilon, delta) = (args.epsilon, args.delta);
    let request = SetPrivacyRequest { unit, epsilon, delta, no_budget: args.no_budget, weaken: args.weaken };
    let population = admin.set_population_privacy(&args.population, &request).await?;
    args.output.print(&population, |population| text(std::slice::from_ref(population)))
}
