use folkmoot_api::tasks::{OpenRoundView, TaskView};
use folkmoot_telemetry::printable;

use crate::{
    CliError,
    connection::TaskArgs,
    output::{moment, or_dash},
};

/// Shows a task and its current state.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: TaskArgs) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = coordinator.task(args.task.id(&coordinator).await?).await?;
    args.output.print(&task, text)
}

/// Formats a task for humans.
pub fn text(task: &TaskView) -> String {
    let description = &task.description;
    let mut lines = vec![
        ("task", task.id.to_string()),
        ("name", description.name.clone()),
        ("population", description.population.to_string()),
        ("state", task.state.clone()),
        ("rounds", format!("{} committed of {}", task.rounds_committed, or_dash(description.stop.rounds))),
        ("open round", or_dash(task.open_round.as_ref().map(open_round))),
        ("version", task.latest_version.to_string()),
        ("parameters", task.parameter_count.to_string()),
        ("model", task.model.to_string()),
        ("created", moment(task.created_at)),
    ];
    if let Some(pause) = &task.pause {
        let (code, reason) = (&pause.code, &pause.reason);
        lines.splice(4..4, [("paused", format!("{reason} ({code})")), ("what to do", pause.remedy.clone())]);
    }
    lines.extend(task.notes.iter().map(|note| ("note", note.clone())));
    let lines: Vec<String> =
        lines.into_iter().map(|(name, value)| format!("{name:<11} {}", printable::line(&value))).collect();
    lines.join("\n")
}

fn open_round(open: &OpenRoundView) -> String {
    let round = format!("{} is {}", open.round.number, open.round.phase);
    match (open.accepted, open.outstanding, open.dropped) {
        (Some(accepted), Some(outstanding), Some(dropped)) => {
            format!("{round}: {accepted} accepted, {outstanding} outstanding, {dropped} dropped")
        }
        _ => {
            format!("{round}; the numbers of selected and reporting clients are hidden by the task's privacy")
        }
    }
}
