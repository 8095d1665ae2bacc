use folkmoot_api::{
    rounds::AwaitedView,
    tasks::{OpenRoundView, TaskView},
};
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
    if let Some((phase, awaited)) =
        task.open_round.as_ref().and_then(|open| Some((&open.round.phase, open.awaited.as_ref()?)))
    {
        lines.insert(6, ("waits", waits(phase, awaited)));
    }
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

fn waits(phase: &str, awaited: &AwaitedView) -> String {
    if !awaited.sums_of.is_empty() {
        let until = awaited.until.map(|until| format!(", until {}", moment(until)));
        return format!("for the sums of {}{}", awaited.sums_of.join(", "), until.unwrap_or_default());
    }
    let things = if phase == "selecting" { "client" } else { "update" };
    let counted = |count: u64| format!("{count} {things}{}", if count == 1 { "" } else { "s" });
    match (awaited.needed, awaited.until.map(moment), awaited.needed_then) {
        (Some(needed), Some(until), Some(then)) if then < needed => {
            format!("for {}; from {until} on, {then} will do", counted(needed))
        }
        (Some(needed), Some(until), _) => format!("for {}, until {until}", counted(needed)),
        (Some(needed), None, _) => format!("for {}", counted(needed)),
        (None, Some(until), Some(then)) => format!("until {until}, with at least {}", counted(then)),
        (None, Some(until), None) => format!("until {until}"),
        (None, None, _) => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;

    #[test]
    fn a_round_says_what_it_waits_for() {
        let at = Some(Timestamp(1_800_000_000_000));
        let text = |phase, needed, until, needed_then| {
            waits(phase, &AwaitedView { needed, until, needed_then, sums_of: Vec::new() })
        };
        let time = "2027-01-15T08:00:00Z";
        assert_eq!(
            text("selecting", Some(5), at, Some(3)),
            format!("for 5 clients; from {time} on, 3 will do")
        );
        assert_eq!(text("selecting", Some(1), at, Some(1)), format!("for 1 client, until {time}"));
        assert_eq!(text("reporting", Some(5), at, None), format!("for 5 updates, until {time}"));
        assert_eq!(text("collecting", Some(10), None, None), "for 10 updates");
        assert_eq!(text("collecting", None, at, Some(2)), format!("until {time}, with at least 2 updates"));
        assert_eq!(text("selecting", None, at, None), format!("until {time}"));
        let sums_of = vec!["north (1)".to_owned(), "south (2)".to_owned()];
        let sums = AwaitedView { needed: None, until: at, needed_then: None, sums_of };
        assert_eq!(
            waits("aggregating", &sums),
            format!("for the sums of north (1), south (2), until {time}")
        );
    }
}
