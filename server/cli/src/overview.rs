use folkmoot_api::overview::OverviewView;

use crate::{
    CliError,
    connection::CoordinatorArgs,
    output::{moment, or_dash, table},
};

/// Shows a summary of a coordinator's activity.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: CoordinatorArgs) -> Result<(), CliError> {
    let overview = args.connection.connect()?.overview().await?;
    args.output.print(&overview, text)
}

fn text(overview: &OverviewView) -> String {
    let ready = if overview.is_ready { "ready" } else { "not ready" };
    let mut parts =
        vec![format!("version {}, {ready}, since {}", overview.version, moment(overview.started_at))];
    parts.extend(overview.problems.clone());
    let tasks: Vec<String> = overview.tasks.iter().map(|(state, count)| format!("{count} {state}")).collect();
    parts.push(format!("tasks: {}", if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") }));
    let populations = overview.populations.iter().map(|one| {
        let (waiting, training) = (or_dash(one.waiting), or_dash(one.training));
        [one.name.to_string(), one.enrolled.to_string(), waiting, training, one.active_tasks.to_string()]
    });
    parts.push(String::new());
    parts.push(table(["POPULATION", "ENROLLED", "WAITING", "TRAINING", "ACTIVE TASKS"], populations));
    let hours =
        overview.hours.iter().filter(|hour| hour.committed + hour.abandoned + hour.updates.unwrap_or(0) > 0);
    let hours = hours.map(|hour| {
        let [committed, abandoned] = [hour.committed, hour.abandoned].map(|count| count.to_string());
        let [updates, bytes] = [hour.updates, hour.upload_bytes].map(or_dash);
        [moment(hour.since), committed, abandoned, updates, bytes]
    });
    parts.push(String::new());
    parts.push(table(["HOUR", "COMMITTED", "ABANDONED", "UPDATES", "BYTES"], hours));
    parts.join("\n")
}
