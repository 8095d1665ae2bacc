use std::path::PathBuf;

use folkmoot_backup::save;
use folkmoot_rounds::clock::system_clock;

use super::{PlacesArgs, text};
use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot backup`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write. It must not exist.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    places: PlacesArgs,
    #[command(flatten)]
    print: OutputArgs,
}

/// Saves a coordinator into a new folder. With SQLite, stop the coordinator first; with PostgreSQL, coordinators may be
/// running.
///
/// # Errors
/// If the output exists, if the coordinator is running on a SQLite database, or if data cannot be read or written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let saved = save(&args.places.places()?, &args.output, system_clock()()).await?;
    args.print.print(&saved, |saved| text("saved", saved))
}
