use std::path::PathBuf;

use folkmoot_backup::restore;
use folkmoot_rounds::clock::system_chance;
use rand::Rng;

use super::{PlacesArgs, text};
use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot restore`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `folkmoot backup` has written.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    places: PlacesArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Restores a backup into an empty data folder and an empty database. The kinds of the database and of the storage for
/// models and updates may change, for example from SQLite to PostgreSQL.
///
/// # Errors
/// If the backup is damaged or of another version, if the data folder or the database is not empty, or if data cannot be
/// written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let process = format!("restore-{:016x}", system_chance().next_u64());
    let restored = restore(&args.from, &args.places.places()?, &process).await?;
    args.output.print(&restored, |restored| text("restored", restored))
}
