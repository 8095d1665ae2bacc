use folkmoot_api::system::SystemView;
use folkmoot_telemetry::printable;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The flags of `folkmoot system`.
#[derive(clap::Args)]
pub struct Args {
    /// The number of log lines to show, at most 500.
    #[arg(long, default_value_t = 20, value_name = "N")]
    lines: usize,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the state of a coordinator's process and its latest log lines.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
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
    if !system.notifications.is_empty() {
        let rows = system.notifications.iter().map(|channel| {
            let state = channel.error.as_deref().map_or_else(|| "ok".into(), printable::line).into_owned();
            let delivered = or_dash(channel.delivered_at.map(moment));
            [channel.name.clone(), channel.kind.clone(), delivered, channel.waiting.to_string(), state]
        });
        parts.push(String::new());
        parts.push(table(["CHANNEL", "KIND", "DELIVERED", "WAITING", "STATE"], rows));
    }
    if let Some(withheld) = &system.withheld {
        parts.push(withheld.clone());
        return parts.join("\n");
    }
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
