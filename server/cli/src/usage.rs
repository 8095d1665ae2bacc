use folkmoot_api::usage::{DayUsageView, UsageView};

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{self, OutputArgs, or_dash, table},
};

/// The flags that choose days, and the format of their rows.
#[derive(clap::Args)]
pub struct DaysArgs {
    /// The first day (UTC), for example 2026-01-31. The default is 30 days before the last one.
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last day (UTC). The default is today.
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Print the days as CSV, for a spreadsheet or a bill.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the quotas of the organisation, its current size, and the usage of its clients.
///
/// # Errors
/// Fails if a day cannot be read, or if the coordinator cannot be reached or refuses the request.
pub async fn run(args: DaysArgs) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let usage = admin.usage(args.from.as_deref(), args.to.as_deref()).await?;
    if args.csv { output::line(&csv(&usage.days)) } else { args.output.print(&usage, text) }
}

/// Shows the usage of every organisation's clients, for system administrators.
///
/// # Errors
/// Fails if a day cannot be read, or if the coordinator cannot be reached or refuses the request.
pub async fn run_for_all(args: DaysArgs) -> Result<(), CliError> {
    let admin = args.connection.connect()?;
    let days = admin.usage_of_all(args.from.as_deref(), args.to.as_deref()).await?;
    if args.csv { output::line(&csv(&days)) } else { args.output.print(days.as_slice(), days_text) }
}

fn text(usage: &UsageView) -> String {
    let quotas = &usage.quotas;
    let today = usage.days.last().map_or(0, |day| day.received_bytes + day.sent_bytes);
    let held = table(
        ["", "NOW", "QUOTA"],
        [
            ["clients".into(), usage.clients.to_string(), or_dash(quotas.clients_max)],
            ["tasks that have not ended".into(), usage.tasks.to_string(), or_dash(quotas.tasks_max)],
            ["stored bytes".into(), usage.stored_bytes.to_string(), or_dash(quotas.stored_bytes_max)],
            ["bytes on the last day".into(), today.to_string(), or_dash(quotas.bytes_per_day_max)],
            ["requests per second".into(), "-".into(), or_dash(quotas.requests_per_second_max)],
        ],
    );
    format!("{held}\n\n{}", days_text(&usage.days))
}

fn days_text(days: &[DayUsageView]) -> String {
    table(["DAY", "ORGANISATION", "REQUESTS", "RECEIVED", "SENT", "UPDATES"], days.iter().map(cells))
}

fn cells(day: &DayUsageView) -> [String; 6] {
    let numbers =
        [day.requests, day.received_bytes, day.sent_bytes, day.updates].map(|count| count.to_string());
    let [requests, received, sent, updates] = numbers;
    [day.day.clone(), day.organisation.clone(), requests, received, sent, updates]
}

/// Writes rows as RFC 4180 describes. A name that a spreadsheet would take for a formula gets an apostrophe.
fn csv(days: &[DayUsageView]) -> String {
    let head = "day,organisation_id,organisation,requests,received_bytes,sent_bytes,updates".to_owned();
    let row = |day: &DayUsageView| {
        let name = match day.organisation.starts_with(['=', '+', '-', '@']) {
            true => format!("'{}", day.organisation),
            false => day.organisation.clone(),
        };
        let [date, _, requests, received, sent, updates] = cells(day);
        let name = name.replace('"', "\"\"");
        format!("{date},{},\"{name}\",{requests},{received},{sent},{updates}", day.organisation_id)
    };
    std::iter::once(head).chain(days.iter().map(row)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::OrganisationId;

    use super::*;

    #[test]
    fn a_name_stays_in_its_cell() {
        let day = DayUsageView {
            day: "2026-01-31".into(),
            organisation_id: OrganisationId::from_random_bytes([1; 16]),
            organisation: "=1+\"a\",b".into(),
            requests: 1,
            received_bytes: 2,
            sent_bytes: 3,
            updates: 4,
        };
        let text = csv(&[day]);
        assert!(text.ends_with(",\"'=1+\"\"a\"\",b\",1,2,3,4"), "{text}");
    }
}
