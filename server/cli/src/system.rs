use folkmoot_api::system::SystemView;
use folkmoot_service::printable;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// Which coordinator, and how much of its log.
#[derive(clap::Args)]
pub struct Args {
    /// Lines of the log, at most 500.
    #[arg(long, default_value_t = 20, value_name = "N")]
    lines: usize,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows how a coordinator's process is, and what it logged last.
///
/// # Errors
/// If the coordinator refuses.
pub async fn run(args: Args) -> Result<(), CliError> {
    let system = args.connection.connect()?.system().await?;
    args.output.print(&system, |system| text(system, args.lines))
}

fn text(system: &SystemView, lines: usize) -> String {
    let ready = if system.is_ready { "ready" } else { "not ready" };
    let mut parts = vec![
        format!("version {}, {ready}, since {}", system.version, moment(system.started_at)),
        format!("database {}, memory {} bytes", system.database, or_dash(system.memory_bytes)),
    ];
    parts.extend(system.problems.clone());
    let leases = system.leases.iter();
    let leases = leases.map(|lease| [lease.name.clone(), lease.holder.clone(), moment(lease.held_until)]);
    parts.push(String::new());
    parts.push(table(["LEASE", "HOLDER", "UNTIL"], leases));
    parts.push(String::new());
    for line in system.log.iter().take(lines).rev() {
        let fields: Vec<String> = line.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let shown = format!("{} {:5} {} {}", moment(line.at), line.level, line.message, fields.join(" "));
        parts.push(printable::line(&shown).into_owned());
    }
    parts.join("\n")
}
