use std::path::PathBuf;

use folkmoot_coordinator::audit_log::Head;
use serde::Serialize;

use super::chain::{self, Follower};
use crate::{CliError, connection::OptionalConnectionArgs, output::OutputArgs};

/// The flags of `folkmoot audit verify`.
#[derive(clap::Args)]
pub struct Args {
    /// A head that was printed earlier and must still be in the log. Without it, missing entries at the end and a
    /// completely rewritten log are not detected.
    #[arg(long, value_name = "ENTRIES:DIGEST", value_parser = chain::head)]
    head: Option<Head>,
    /// Verify an exported log, without a coordinator.
    #[arg(long, value_name = "FILE.jsonl")]
    file: Option<PathBuf>,
    #[command(flatten)]
    connection: OptionalConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A log whose chain is intact.
#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    head: Head,
    /// The head that was given and found, if any.
    known_head: Option<Head>,
    /// The last entry that retention removed, if any.
    removed: Option<Head>,
}

/// Verifies the digest of every entry, the links between entries, and that the known head is among them.
///
/// # Errors
/// If the log is broken, or cannot be read.
pub async fn run(args: Args) -> Result<(), CliError> {
    let mut follower = Follower::new(args.head);
    match &args.file {
        Some(file) => chain::read(file, |view| follower.follow(view))?,
        None => chain::download(&args.connection.connect()?, |view| follower.follow(view)).await?,
    }
    let chain::Followed { head, removed } = follower.end()?;
    let verified = Verified { head, known_head: args.head, removed };
    args.output.print(&verified, text)
}

fn text(verified: &Verified) -> String {
    let known = match verified.known_head {
        Some(known) => format!("known head {} was found", chain::shown(known)),
        None => "The chain of entries is intact. Save the head in another place: with --head, it later proves that no \
                 entry from it on was removed or rewritten."
            .into(),
    };
    let removed = verified.removed.map_or_else(String::new, |removed| {
        let last = removed.entries;
        format!(
            "The log says that retention removed entries 1 to {last}. The head at their end was {}.\n",
            chain::shown(removed)
        )
    });
    format!("entries {}\nhead    {}\n{removed}{known}", verified.head.entries, chain::shown(verified.head))
}
