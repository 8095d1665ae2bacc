use folkmoot_api::api_keys::OVERLAP_SECONDS_MAX;

use crate::{CliError, connection::ConnectionArgs, output::OutputArgs, words::seconds};

/// The arguments of `folkmoot key rotate`.
#[derive(clap::Args)]
pub struct Args {
    /// The key's name, its id (the part before the dot), or the beginning of its id.
    id: String,
    /// The time for which the old secret stays valid, at most 30d: a number with s, m, h or d, or a number of seconds.
    /// Use 0 if somebody else may have the secret.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = |text: &str| seconds(text, OVERLAP_SECONDS_MAX))]
    overlap: u64,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Gives an API key a new secret, and prints the key alone on one line. It is shown only once.
///
/// # Errors
/// Fails if there is no such key, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let rotated = args.connection.connect()?.rotate_api_key(&args.id, args.overlap).await?;
    args.output.print(&rotated, |rotated| rotated.api_key.clone())
}
