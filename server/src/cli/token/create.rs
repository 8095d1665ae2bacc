use folkmoot_protocol::PopulationName;

use crate::{
    cli::{CliError, connection::ConnectionArgs, output::OutputArgs},
    http::admin::tokens::CreateTokenRequest,
};

/// What the token allows.
#[derive(clap::Args)]
pub struct Args {
    /// The population; it is made if there is none of this name.
    population: PopulationName,
    /// Whose devices enrol with it: an id of your own service, of which only the digest is stored.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
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
    let request = CreateTokenRequest {
        population: args.population,
        user: args.user,
        uses_max: args.uses,
        expires_in_seconds: args.expires_in,
    };
    let created = args.connection.connect()?.create_token_from(&request).await?;
    args.output.print(&created, |created| created.token.clone())
}
