use folkmoot_coordinator::audit_log::{Change, Record};
use serde::Serialize;

use super::chain;
use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The flags of `folkmoot audit list`.
#[derive(clap::Args)]
pub struct Args {
    /// The number of entries to list: 1 to 100.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// List entries after this number instead of the newest ones.
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Report {
    /// The number of entries in the whole log.
    entry_count: u64,
    entries: Vec<Record>,
}

/// Lists entries of the audit log, newest last.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let page = args.connection.connect()?.audit(args.after, args.limit).await?;
    let entries = page.entries.into_iter().map(|view| Ok(chain::parse(view)?.1));
    let report = Report { entry_count: page.entry_count, entries: entries.collect::<Result<_, CliError>>()? };
    args.output.print(&report, text)
}

fn text(report: &Report) -> String {
    let rows = report.entries.iter().map(|record| {
        [
            record.number.to_string(),
            moment(record.at),
            record.by.clone(),
            or_dash(record.from.as_ref()),
            record.action.clone(),
            record.subject.clone(),
            record.changes.iter().map(change).collect::<Vec<_>>().join(", "),
        ]
    });
    let rows = table(["NUMBER", "AT", "BY", "FROM", "ACTION", "SUBJECT", "CHANGES"], rows);
    format!("{rows}\n\n{} entries so far", report.entry_count)
}

/// Formats a change: `state: active → paused`, or `name: digits` for a new property.
fn change(change: &Change) -> String {
    let after = or_dash(change.after.as_ref());
    match &change.before {
        Some(before) => format!("{}: {before} → {after}", change.what),
        None => format!("{}: {after}", change.what),
    }
}
