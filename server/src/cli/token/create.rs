use folkmoot_protocol::PopulationName;

use crate::cli::{CliError, connection::ConnectionArgs, output::OutputArgs};

/// What the token allows.
#[derive(clap::Args)]
pub struct Args {
    /// The population; it is made if there is none of this name.
    population: PopulationName,
    /// How many clients may enrol with it; any number without this.
    #[arg(long, value_name = "N")]
    uses: Option<u64>,
    /// After how many seconds it ends; never without this.
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Makes an enrolment token. It is printed once, and alone on its line.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let created =
        args.connection.connect()?.create_token(args.population, args.uses, args.expires_in).await?;
    args.output.print(&created, |created| created.token.clone())
}
