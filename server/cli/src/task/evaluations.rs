use folkmoot_api::evaluations::EvaluationView;

use crate::{
    CliError,
    connection::TaskArgs,
    output::{moment, or_dash, table},
};

/// Lists the evaluations of a task's versions, oldest first, and marks the best.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: TaskArgs) -> Result<(), CliError> {
    let evaluations = args.connection.connect()?.evaluations(args.task).await?;
    args.output.print(evaluations.as_slice(), text)
}

fn text(evaluations: &[EvaluationView]) -> String {
    let number = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.4}")));
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
                String::new(),
                String::new(),
            ]
        });
        [whole].into_iter().chain(slices)
    });
    table(["VERSION", "SOURCE", "SLICE", "CLIENTS", "EXAMPLES", "LOSS", "ACCURACY", "", "AT"], rows)
}
