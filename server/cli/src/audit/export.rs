use std::path::PathBuf;

use folkmoot_coordinator::audit_log::Head;
use serde::Serialize;

use super::chain::{self, Follower};
use crate::{
    CliError,
    connection::ConnectionArgs,
    json_lines::NewFile,
    output::{self, OutputArgs},
};

/// The flags of `folkmoot audit export`.
#[derive(clap::Args)]
pub struct Args {
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
    #[serde(flatten)]
    head: Head,
    /// The number of entries in the file. It is smaller than the number of the head if retention removed entries.
    written: u64,
    file: PathBuf,
}

/// Exports the audit log as one line of JSON for each entry, oldest first. Verifies the chain on the way.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, if the file cannot be written, or if the log is
/// broken.
pub async fn run(args: Args) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let mut follower = Follower::default();
    let Some(file) = args.output else {
        return chain::download(&admin, |view| {
            output::json_line(&output::json(&view)?)?;
            follower.follow(view)
        })
        .await;
    };
    let mut new = NewFile::create(&file)?;
    let mut written = 0;
    chain::download(&admin, |view| {
        new.line(&output::json(&view)?)?;
        written += 1;
        follower.follow(view)
    })
    .await?;
    new.finish()?;
    args.form.print(&Exported { head: follower.end()?.head, written, file }, |exported| {
        let (written, file) = (exported.written, exported.file.display());
        format!("wrote {written} entries to {file}\nhead {}", chain::shown(exported.head))
    })
}
