use std::io::{Write, stderr};

use folkmoot_api::tokens::{CreateTokenRequest, TokenView};
use folkmoot_protocol::PopulationName;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment},
};

/// What the token allows.
#[derive(clap::Args)]
pub struct Args {
    /// The population; it is made if there is none of this name.
    population: PopulationName,
    /// Whose devices enrol with it: an id of your own service, of which only the digest is stored.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// How many clients may enrol with it. [default: 1000]
    #[arg(long, value_name = "N")]
    uses: Option<u64>,
    /// Let any number of clients enrol with it. Whoever finds the token can then enrol without end.
    #[arg(long, conflicts_with = "uses")]
    unlimited_uses: bool,
    /// After how many seconds it ends. [default: 2592000, which is 30 days]
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    /// Let clients enrol with it until it is revoked.
    #[arg(long, conflicts_with = "expires_in")]
    no_expiry: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Makes an enrolment token. It is printed once, and alone on its line; stderr says what bounds it.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let request = CreateTokenRequest {
        population: args.population,
        user: args.user,
        uses_max: args.uses,
        unlimited_uses: args.unlimited_uses,
        expires_in_seconds: args.expires_in,
        no_expiry: args.no_expiry,
    };
    let created = args.connection.connect()?.create_token_from(&request).await?;
    // A stderr that is closed does not make the token less good.
    let _ = writeln!(stderr(), "{}", bounds(&created.record));
    args.output.print(&created, |created| created.token.clone())
}

/// Says what bounds a token, and warns of what nothing bounds.
fn bounds(token: &TokenView) -> String {
    let clients = match token.uses_max {
        Some(1) => "1 client".to_owned(),
        Some(uses) => format!("up to {uses} clients"),
        None => "any number of clients".to_owned(),
    };
    let until = token.expires_at.map_or("it is revoked".to_owned(), moment);
    let warning = match (token.uses_max, token.expires_at) {
        (Some(_), Some(_)) => return format!("The token enrols {clients} until {until}."),
        (None, _) => "whoever finds it can enrol without end; prefer --uses",
        (_, None) => "whoever finds it years from now can still enrol; prefer --expires-in",
    };
    format!("warning: the token enrols {clients} until {until}: {warning}")
}
