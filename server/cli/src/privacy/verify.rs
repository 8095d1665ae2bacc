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
mod tests {
    use folkmoot_api::privacy::EntryView;
    use folkmoot_privacy::ledger::{Event, Release};

    use super::{super::tests::entries, *};

    fn lines(entries: &[Entry]) -> Vec<String> {
        entries
            .iter()
            .map(|entry| serde_json::to_string(&EntryView::of(entry)).expect("it is data"))
            .collect()
    }

    fn check(lines: &[String], known: Option<Head>) -> Result<Verified, CliError> {
        let file = tempfile::NamedTempFile::new().expect("a folder for files that pass");
        std::fs::write(file.path(), lines.join("\n")).expect("it can be written");
        verify_file(file.path(), None, known)
    }

    fn head_of(entry: &Entry) -> Head {
        Head { entries: entry.sequence, digest: entry.digest }
    }

    #[test]
    fn a_whole_export_is_verified() {
        let entries = entries(5);
        let verified = check(&lines(&entries), None).unwrap();
        assert_eq!((&verified.head, verified.population.as_str()), (&head_of(&entries[4]), "digits"));
        assert!(text(&verified).contains(&format!("head       5:{}", entries[4].digest)));
    }

    #[test]
    fn a_changed_line_is_found() {
        let entries = entries(5);
        let whole = lines(&entries);
        let changes = [
            ("\"noise_multiplier\":1.3333333333333333", "\"noise_multiplier\":1.3333333333333335"),
            ("\"version\":2", "\"version\":1"),
            ("\"rate\":0.30000000000000004", "\"rate\":0.3"),
            ("\"zero_out\"", "\"replace_one\""),
        ];
        for (from, to) in changes {
            let mut changed = whole.clone();
            changed[2] = whole[2].replace(from, to);
            assert_ne!(changed[2], whole[2], "{from}");
            let error = check(&changed, None).err().unwrap().to_string();
            assert!(error.contains("line 3: entry 3 was changed"), "{error}");
        }
        let mut half = whole.clone();
        half[4].truncate(100);
        assert!(check(&half, None).err().unwrap().message.contains("line 5: not a ledger entry"));
        let without = [&whole[..1], &whole[2..]].concat();
        assert!(check(&without, None).err().unwrap().message.contains("line 2: entry 2 is missing"));
    }

    #[test]
    fn what_was_cut_off_or_rewritten_is_found_by_a_known_head() {
        let whole = entries(5);
        for known in &whole {
            assert!(check(&lines(&whole), Some(head_of(known))).is_ok());
        }
        let known = Some(head_of(&whole[4]));
        // A shorter chain is intact. The first line warns that its end was not verified.
        let shorter = check(&lines(&whole[..4]), None).unwrap();
        assert!(shorter.warning.is_some() && text(&shorter).starts_with("WARNING: no head was given, "));
        let with_head = check(&lines(&whole), known.clone()).unwrap();
        assert!(with_head.warning.is_none() && !text(&with_head).contains("WARNING"));
        let error = check(&lines(&whole[..4]), known).err().unwrap().to_string();
        assert!(error.contains("the known head of 5 entries") && error.contains("removed"), "{error}");

        // An attacker rewrites the whole chain consistently, with changed entries.
        let mut rewritten: Vec<Entry> = Vec::new();
        for entry in &whole {
            let Event::Release(release) = entry.event else { panic!("all are releases") };
            let event = Event::Release(Release { version: release.version + 1, ..release });
            let last = rewritten.last().map(|last: &Entry| (last.sequence, last.digest));
            rewritten.push(Entry::following(last, entry.population.clone(), entry.at, event));
        }
        assert!(check(&lines(&rewritten), None).is_ok());
        assert!(check(&lines(&rewritten), Some(head_of(&whole[1]))).is_err());
    }

    #[test]
    fn an_empty_export_needs_a_name() {
        assert!(check(&[], None).is_err());
        let file = tempfile::NamedTempFile::new().unwrap();
        let digits: PopulationName = "digits".parse().unwrap();
        let verified = verify_file(file.path(), Some(digits.clone()), None).unwrap();
        assert_eq!(verified.head.entries, 0);
        let known = head_of(&entries(1)[0]);
        assert!(verify_file(file.path(), Some(digits), Some(known)).is_err());
    }

    #[test]
    fn a_head_can_be_given_as_text_or_as_a_file() {
        let entries = entries(3);
        let head = head_of(&entries[2]);
        let verified = check(&lines(&entries), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("head.json");
        std::fs::write(&kept, format!("{}\n", output::json(&verified).unwrap())).unwrap();
        let export = folder.path().join("ledger.jsonl");
        std::fs::write(&export, lines(&entries).join("\n")).unwrap();
        for text in [head::shown(&head), kept.display().to_string(), export.display().to_string()] {
            assert_eq!(head::read(&text).unwrap(), head, "{text}");
        }
        for text in ["3", "3:abc", "nowhere.json", ""] {
            let error = head::read(text).unwrap_err();
            assert!(error.remedy.unwrap().contains("64 hexadecimal digits"), "{text}");
        }
    }
}
