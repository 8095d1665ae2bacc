use folkmoot_api::rounds::RoundAssignmentsView;

use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The arguments of `folkmoot task round`.
#[derive(clap::Args)]
pub struct Args {
    /// The id of the round or the beginning of it, as listed by `folkmoot task rounds`.
    round: String,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the timeline of a round's assignments, without the ids of the clients.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let round = args.connection.connect()?.round_assignments(args.round).await?;
    args.output.print(&round, text)
}

fn text(view: &RoundAssignmentsView) -> String {
    let round = &view.round;
    let rows = view.lanes.iter().map(|lane| {
        let seconds = |at: folkmoot_protocol::Timestamp| {
            format!("{:.1} s", at.milliseconds_since(lane.assigned_at) as f64 / 1000.0)
        };
        [
            moment(lane.assigned_at),
            lane.status.clone(),
            lane.reason.clone().or_else(|| lane.kind.clone()).unwrap_or_else(|| "-".into()),
            or_dash(lane.closed_at.map(seconds)),
            or_dash(lane.training_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0))),
            or_dash(lane.upload_bytes),
        ]
    });
    let lanes = table(["ASSIGNED", "STATUS", "REASON", "TOOK", "TRAINING", "BYTES"], rows);
    let left_out = match view.left_out {
        Some(0) => String::new(),
        Some(count) => format!("\n{count} more assignments are not shown"),
        None => {
            "\nassignments are hidden: the task's privacy depends on keeping the selection secret".to_owned()
        }
    };
    let scores = view.scores.as_ref().map_or(String::new(), |scores| {
        let unusual = scores.most_unusual.iter().filter(|update| update.is_unusual);
        let rows = unusual.map(|update| {
            [format!("{:.1}", update.score), or_dash(update.client_id), update.explanation.clone()]
        });
        let said = format!("\n\n{} of {} updates are unusual", scores.unusual, scores.updates);
        match scores.unusual {
            0 => said,
            _ => format!("{said}\n\n{}", table(["SCORE", "CLIENT", "WHY"], rows)),
        }
    });
    let withheld = view.withheld.as_ref().map_or(String::new(), |why| format!("\n\n{why}"));
    format!(
        "round {} of task {}: {}\n\n{lanes}{left_out}{scores}{withheld}",
        round.number, round.task_id, round.phase
    )
}
