use folkmoot_api::rounds::RoundView;

use crate::{
    CliError,
    output::{moment, or_dash, table},
    page::TaskPageArgs,
};

/// Lists a task's rounds, newest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: TaskPageArgs) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let rounds = coordinator.rounds(args.task.id(&coordinator).await?, args.page.page()).await?;
    args.output.print(rounds.as_slice(), text)
}

fn text(rounds: &[RoundView]) -> String {
    let rows = rounds.iter().map(|round| {
        [
            round.number.to_string(),
            round.phase.clone(),
            moment(round.phase_since),
            or_dash(round.cohort),
            or_dash(round.accepted),
            or_dash(round.version),
            round.id.to_string(),
        ]
    });
    table(["ROUND", "PHASE", "SINCE", "COHORT", "ACCEPTED", "VERSION", "ID"], rows)
}
