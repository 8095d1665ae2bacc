use std::path::PathBuf;

use folkmoot_api::{AdminClient, privacy::EntryView};
use folkmoot_privacy::ledger::{Chain, ChainError, Head};
use folkmoot_protocol::PopulationName;
use serde::Serialize;

use super::{broken, download, head};
use crate::{
    CliError,
    connection::ConnectionArgs,
    json_lines::NewFile,
    output::{self, OutputArgs},
};

/// The flags of `folkmoot privacy export`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of the population.
    population: PopulationName,
    /// The file to write. By default, the entries are printed.
    #[arg(long, value_name = "FILE.jsonl")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    form: OutputArgs,
}

#[derive(Serialize)]
struct Exported {
    population: PopulationName,
    #[serde(flatten)]
    head: Head,
    file: PathBuf,
}

/// Exports a population's ledger as one line of JSON for each entry, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, if the file cannot be written, or if the ledger
/// is broken. A broken ledger is exported, too.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let Some(file) = args.output else {
        return export(&admin, &args.population, |line| output::json_line(&line)).await?.map(drop);
    };
    let mut new = NewFile::create(&file)?;
    let followed = export(&admin, &args.population, |line| new.line(&line)).await?;
    new.finish()?;
    let exported = Exported { population: args.population, head: followed?, file };
    args.form.print(&exported, |exported| {
        let (entries, file) = (exported.head.entries, exported.file.display());
        format!("wrote {entries} entries to {file}\nhead {}", head::shown(&exported.head))
    })
}

/// Calls `visit` with every line. The inner result is the head of the ledger, or the first break in the chain.
async fn export(
    admin: &AdminClient,
    population: &PopulationName,
    mut visit: impl FnMut(String) -> Result<(), CliError>,
) -> Result<Result<Head, CliError>, CliError> {
    let mut chain = Chain::new(population.clone());
    let mut followed: Result<(), ChainError> = Ok(());
    let each = |view: EntryView| {
        let entry = view.entry().map_err(download::out_of_range(view.sequence))?;
        if followed.is_ok() {
            followed = chain.follow(&entry);
        }
        visit(output::json(&view)?)
    };
    download::for_each(admin, population, each).await?;
    Ok(followed.map(|()| chain.head().clone()).map_err(|error| broken(&error)))
}
