use folkmoot_api::versions::VersionView;

use crate::{
    CliError,
    output::{moment, or_dash, table},
    page::TaskPageArgs,
};

/// Lists a task's model versions, newest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: TaskPageArgs) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let versions = coordinator.versions(args.task.id(&coordinator).await?, args.page.page()).await?;
    args.output.print(versions.as_slice(), text)
}

fn text(versions: &[VersionView]) -> String {
    let rows = versions.iter().map(|version| {
        [
            version.number.to_string(),
            or_dash(version.mean_loss.map(|loss| format!("{loss:.4}"))),
            or_dash(version.accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy))),
            or_dash(version.example_count),
            moment(version.created_at),
            version.dropped_at.map_or_else(|| "kept".into(), |at| format!("dropped {}", moment(at))),
        ]
    });
    table(["VERSION", "TRAINING LOSS", "TRAINING ACCURACY", "EXAMPLES", "RELEASED", "WEIGHTS"], rows)
}
