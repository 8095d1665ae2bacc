use folkmoot_api::evaluations::{ClassEvaluationView, EvaluationView};

use crate::{
    CliError,
    class_tables::{class_tables, number},
    connection::TaskArgs,
    output::{moment, or_dash, table},
};

/// The flags of `folkmoot task evaluations`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// Show every metric, the classes and the confusion matrix of this version.
    #[arg(long)]
    version: Option<u64>,
}

/// Lists the evaluations of a task's versions, oldest first, and marks the best. With `--version`, shows the
/// evaluations of one version in detail.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let Args { task: TaskArgs { task, connection, output }, version } = args;
    let coordinator = connection.connect()?;
    let task = task.id(&coordinator).await?;
    match version {
        None => output.print(coordinator.evaluations(task).await?.as_slice(), list),
        Some(_) => output.print(coordinator.class_evaluations(task, version).await?.as_slice(), details),
    }
}

fn list(evaluations: &[EvaluationView]) -> String {
    let named = ["loss", "accuracy"];
    // The task's metric has a column of its own if it is neither of the two.
    let metric = evaluations.first().map(|one| one.metric.as_str()).filter(|one| !named.contains(one));
    let rows = evaluations.iter().flat_map(|one| {
        let best = if one.is_best { "best" } else { "" };
        let whole = [
            one.version.to_string(),
            one.source.clone(),
            "all".into(),
            one.client_count.to_string(),
            or_dash(one.example_count),
            number(one.mean_loss),
            number(one.accuracy),
            metric.map_or_else(String::new, |metric| number(one.metrics.get(metric).copied())),
            best.into(),
            moment(one.created_at),
        ];
        let slices = one.slices.iter().map(move |slice| {
            [
                String::new(),
                String::new(),
                slice.slice.clone(),
                slice.client_count.to_string(),
                or_dash(slice.example_count),
                number(slice.mean_loss),
                number(slice.accuracy),
                metric.map_or_else(String::new, |metric| number(slice.metrics.get(metric).copied())),
                String::new(),
                String::new(),
            ]
        });
        [whole].into_iter().chain(slices)
    });
    let heading = metric.map(str::to_uppercase).unwrap_or_default();
    let listed = table(
        ["VERSION", "SOURCE", "SLICE", "CLIENTS", "EXAMPLES", "LOSS", "ACCURACY", heading.as_str(), "", "AT"],
        rows,
    );
    // Without a column of its own, nothing is missing from the list.
    let missing = evaluations.iter().filter(|_| metric.is_some()).find_map(|one| {
        let why = one.metrics_missing.as_ref()?;
        Some(format!("\n\nversion {}, {}: {why}", one.version, one.source))
    });
    listed + &missing.unwrap_or_default()
}

fn details(evaluations: &[ClassEvaluationView]) -> String {
    if evaluations.is_empty() {
        return "this version was not evaluated".into();
    }
    let parts = evaluations.iter().map(|ClassEvaluationView { evaluation, classes }| {
        let examples = or_dash(evaluation.example_count);
        let heading = format!("version {}, {}, {examples} examples", evaluation.version, evaluation.source);
        let metrics = evaluation.metrics.iter().map(|(name, value)| [name.clone(), number(Some(*value))]);
        let mut part = format!("{heading}\n\n{}", table(["METRIC", "VALUE"], metrics));
        part.extend(evaluation.metrics_missing.iter().map(|why| format!("\n\n{why}")));
        part.extend(classes.iter().map(|report| class_tables(report, &[])));
        part
    });
    parts.collect::<Vec<_>>().join("\n\n")
}
