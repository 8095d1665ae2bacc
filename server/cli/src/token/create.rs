use std::{
    io::{Write, stderr},
    path::PathBuf,
};

use folkmoot_api::tokens::{CreateTokenRequest, TokenView};
use folkmoot_protocol::{DisplayName, PopulationName};

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment},
};

/// The flags of `folkmoot token create`.
#[derive(clap::Args)]
pub struct Args {
    /// The population. It is created if it does not exist.
    population: PopulationName,
    /// A display name. In a population of sites, every token needs one: the name of the site whose client enrols with it.
    #[arg(long)]
    name: Option<DisplayName>,
    /// The user whose devices enrol with the token: an id from your own service. Only its digest is stored.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// A file with a public key of your own server, as PEM (Ed25519, P-256 or RSA). Clients then enrol with a JSON Web Token
    /// (JWT) that your server signs: its `aud` is the id that this command prints, its `sub` is the user, and its `exp` is
    /// at most a day ahead. Can be repeated, to exchange keys.
    #[arg(long = "jwt-key", value_name = "FILE", conflicts_with = "user")]
    jwt_keys: Vec<PathBuf>,
    /// The number of clients that may enrol with the token. [default: 1000, or 1 for a site]
    #[arg(long, value_name = "N")]
    uses: Option<u64>,
    /// Let any number of clients enrol with the token. If it leaks, anyone can enrol clients without limit.
    #[arg(long, conflicts_with = "uses")]
    unlimited_uses: bool,
    /// The lifetime of the token in seconds. [default: 2592000, which is 30 days]
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    /// Let clients enrol with the token until it is revoked.
    #[arg(long, conflicts_with = "expires_in")]
    no_expiry: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Creates an enrolment token and prints it alone on one line. It is shown only once. Its limits are printed to
/// stderr.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let key = |path: PathBuf| std::fs::read_to_string(&path).map_err(CliError::read(&path));
    let request = CreateTokenRequest {
        population: args.population,
        name: args.name,
        user: args.user,
        jwt_keys: args.jwt_keys.into_iter().map(key).collect::<Result<_, _>>()?,
        uses_max: args.uses,
        unlimited_uses: args.unlimited_uses,
        expires_in_seconds: args.expires_in,
        no_expiry: args.no_expiry,
    };
    let created = args.connection.connect()?.create_token_from(&request).await?;
    // The token is valid even if stderr is closed.
    let _ = writeln!(stderr(), "{}", bounds(&created.record));
    args.output.print(&created, |created| created.token.clone())
}

/// Describes the limits of a token, and warns if one is missing.
fn bounds(token: &TokenView) -> String {
    let clients = match token.uses_max {
        Some(1) => "1 client".to_owned(),
        Some(uses) => format!("up to {uses} clients"),
        None => "any number of clients".to_owned(),
    };
    let until = token.expires_at.map_or("it is revoked".to_owned(), moment);
    if !token.jwt_keys.is_empty() {
        return format!("JWTs with the audience {} enrol {clients} until {until}.", token.id);
    }
    let warning = match (token.uses_max, token.expires_at) {
        (Some(_), Some(_)) => return format!("The token enrols {clients} until {until}."),
        (None, _) => "if it leaks, anyone can enrol clients without limit; prefer --uses",
        (_, None) => "if it leaks, even years from now, anyone can enrol; prefer --expires-in",
    };
    format!("warning: the token enrols {clients} until {until}: {warning}")
}
