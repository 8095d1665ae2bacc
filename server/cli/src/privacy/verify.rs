use std::path::{Path, PathBuf};

use folkmoot_api::AdminClient;
use folkmoot_privacy::ledger::{Chain, ChainError, Entry, Head};
use folkmoot_protocol::PopulationName;
use serde::Serialize;

use super::{broken, download, export_file, head};
use crate::{
    CliError,
    connection::OptionalConnectionArgs,
    output::{self, OutputArgs},
};

/// The flags of `folkmoot privacy verify`.
#[derive(clap::Args)]
pub struct Args {
    /// The population. Not needed with --file, because an export names its population.
    #[arg(required_unless_present = "file")]
    population: Option<PopulationName>,
    /// A head that was saved earlier and must still be in the ledger. Give ENTRIES:DIGEST as printed by verify, a
    /// file with the output of verify --json, or an export. Without it, missing entries at the end and a completely
    /// rewritten ledger are not detected.
    #[arg(long, value_name = "FILE|ENTRIES:DIGEST")]
    head: Option<String>,
    /// Verify an exported ledger, without a coordinator.
    #[arg(long, value_name = "FILE.jsonl")]
    file: Option<PathBuf>,
    #[command(flatten)]
    connection: OptionalConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A ledger whose chain is intact.
#[derive(Serialize)]
struct Verified {
    population: PopulationName,
    #[serde(flatten)]
    head: Head,
    /// The head that was given and found, if any.
    known_head: Option<Head>,
    /// The changes that could not be detected, if no head was given.
    warning: Option<&'static str>,
}

/// The warning if no head was given: the chain alone cannot show these changes.
const NO_HEAD: &str = "no head was given, so missing entries at the end and a completely rewritten ledger are not \
                       detected";

/// Verifies the digest of every entry, the links between entries, and that the known head is among them.
///
/// # Errors
/// If the ledger is broken, or cannot be read.
pub async fn run(args: Args) -> Result<(), CliError> {
    let known = args.head.as_deref().map(head::read).transpose()?;
    let verified = match (&args.file, args.population) {
        (Some(file), population) => verify_file(file, population, known),
        (None, Some(population)) => verify(&args.connection.connect()?, population, known).await,
        (None, None) => Err(CliError::new("give a POPULATION, or an exported ledger with --file")),
    };
    match verified {
        Ok(verified) => args.output.print(&verified, text),
        Err(error) if args.output.json => {
            output::json_line(&output::json(&serde_json::json!({ "error": error.message }))?)?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// Verifies a coordinator's ledger.
async fn verify(
    admin: &AdminClient,
    population: PopulationName,
    known: Option<Head>,
) -> Result<Verified, CliError> {
    let mut follower = Follower::new(population.clone(), known);
    let follow = |view: folkmoot_api::privacy::EntryView| {
        let entry = view.entry().map_err(download::out_of_range(view.sequence))?;
        follower.follow(&entry).map_err(|error| broken(&error))
    };
    download::for_each(admin, &population, follow).await?;
    follower.end().map_err(|error| broken(&error))
}

/// Verifies an exported ledger.
fn verify_file(
    path: &Path,
    population: Option<PopulationName>,
    known: Option<Head>,
) -> Result<Verified, CliError> {
    let mut follower = population.map(|population| Follower::new(population, known.clone()));
    export_file::for_each(path, |entry| {
        let begin = || Follower::new(entry.population.clone(), known.clone());
        follower.get_or_insert_with(begin).follow(&entry).map_err(|error| broken(&error))
    })?;
    let empty = || {
        let message = format!("{} has no entries", path.display());
        CliError::with_remedy(message, "give the POPULATION if its ledger is expected to be empty")
    };
    follower.ok_or_else(empty)?.end().map_err(|error| broken(&error))
}

/// Verifies a chain of entries, and looks for a known head in it.
struct Follower {
    population: PopulationName,
    chain: Chain,
    known: Option<Head>,
}

impl Follower {
    fn new(population: PopulationName, known: Option<Head>) -> Self {
        Self { chain: Chain::new(population.clone()), population, known }
    }

    /// Verifies the next entry.
    fn follow(&mut self, entry: &Entry) -> Result<(), ChainError> {
        self.look_for_known()?;
        self.chain.follow(entry)
    }

    /// Ends the chain, and verifies that the known head was not beyond its end.
    fn end(self) -> Result<Verified, ChainError> {
        self.look_for_known()?;
        if let Some(known) = &self.known
            && known.entries > self.chain.head().entries
        {
            return Err(ChainError::Head(known.clone()));
        }
        let warning = self.known.is_none().then_some(NO_HEAD);
        let (population, head) = (self.population, self.chain.head().clone());
        Ok(Verified { population, head, known_head: self.known, warning })
    }

    /// Compares the known head with the entry at its position.
    fn look_for_known(&self) -> Result<(), ChainError> {
        match &self.known {
            Some(known) if known.entries == self.chain.head().entries => self.chain.ends_in(known),
            _ => Ok(()),
        }
    }
}

fn text(verified: &Verified) -> String {
    let mut lines = vec![
        format!("population {}", verified.population),
        format!("entries    {}", verified.head.entries),
        format!("head       {}", head::shown(&verified.head)),
    ];
    lines.push(match &verified.known_head {
        Some(known) => format!("known head {} was found", head::shown(known)),
        None => "The chain of entries is intact. Save the head in another place: with --head, it later proves that no \
                 entry was removed or rewritten."
            .into(),
    });
    if let Some(warning) = verified.warning {
        lines.insert(0, format!("WARNING: {warning}. Give a saved head with --head."));
    }
    lines.join("\n")
}

#[cfg(test)]
#[path = "../../tests/unit/privacy_verify.rs"]
mod tests;
