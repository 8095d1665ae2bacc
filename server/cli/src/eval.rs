use std::path::{Path, PathBuf};

use folkmoot_client::read_model_file;
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_inference::InferenceModel;
use folkmoot_protocol::{ClassReport, DataSchema, Metric, MetricValues};
use serde::Serialize;

use super::{
    CliError,
    class_tables::{class_tables, number},
    data::schema_of_model,
    examples_file::ExamplesArgs,
    output::{OutputArgs, or_dash, table},
};

/// The flags of `folkmoot eval`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file of the model.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    #[command(flatten)]
    examples: ExamplesArgs,
    /// The output to evaluate, or a value inside of the graph. The default is the first output.
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
    #[command(flatten)]
    shown: OutputArgs,
}

#[derive(Serialize)]
struct Evaluation {
    example_count: u64,
    mean_loss: Option<f64>,
    /// The accuracy, 0 to 1; `None` if labels are not class numbers.
    accuracy: Option<f64>,
    /// All metrics that the labels allow.
    metrics: MetricValues,
    /// `None` if labels are not class numbers.
    classes: Option<ClassReport>,
    /// The names of the classes, if the model's schema has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    class_names: Vec<String>,
}

/// Evaluates a model on local data: the loss, and every metric that the labels allow. A table or images are encoded by the
/// schema in the model's metadata, unless `--schema` gives another.
///
/// # Errors
/// If a file cannot be read, or the examples do not fit the model.
pub async fn run(args: Args) -> Result<(), CliError> {
    let Args { model, examples, output, shown } = args;
    let measured = tokio::task::spawn_blocking(move || evaluate(&model, &examples, output.as_deref())).await;
    let evaluation = measured.map_err(|error| {
        CliError::new(format!("the evaluation was interrupted: {error}; run the command again"))
    })??;
    shown.print(&evaluation, text)
}

fn evaluate(path: &Path, examples: &ExamplesArgs, output: Option<&str>) -> Result<Evaluation, CliError> {
    let onnx = read_model_file(path)?.onnx;
    let failed = |error| CliError::new(format!("{}: {error}", path.display()));
    let schema = schema_of_model(path, &onnx)?;
    let examples = examples.read(schema.as_ref())?;
    let features = examples.feature_shape().iter().product();
    let model = InferenceModel::from_onnx_for(&onnx, features, output).map_err(failed)?;
    let loss = model.default_loss(examples.labels());
    // tract reads more models than the engine, but does not detect a softmax that the loss repeats, or an id that is
    // not a row of a table.
    let own = Model::from_onnx(&onnx, &ImportLimits::default());
    let own = own.and_then(|own| output.map_or_else(|| Ok(own.clone()), |name| own.with_output(name)));
    if let Ok(own) = own {
        own.check_examples(&examples, loss)
            .map_err(|error| CliError::new(format!("{}: {error}", path.display())))?;
    }
    let class_names = schema.as_ref().and_then(DataSchema::classes).unwrap_or_default().to_vec();
    let evaluation = model.evaluate_in_detail(&examples, loss).map_err(failed)?;
    let metrics = evaluation.values();
    Ok(Evaluation {
        example_count: evaluation.metrics.example_count,
        mean_loss: metrics.get(Metric::Loss),
        accuracy: metrics.get(Metric::Accuracy),
        metrics,
        classes: evaluation.class_report(),
        class_names,
    })
}

fn text(evaluation: &Evaluation) -> String {
    let accuracy = evaluation.accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy));
    let known = [
        ["examples".to_owned(), evaluation.example_count.to_string()],
        ["mean loss".to_owned(), or_dash(evaluation.mean_loss.map(|loss| format!("{loss:.6}")))],
        ["accuracy".to_owned(), or_dash(accuracy)],
    ];
    let has_row = |metric: Metric| matches!(metric, Metric::Loss | Metric::Accuracy);
    let others = evaluation.metrics.iter().filter(|(metric, _)| !has_row(*metric));
    let others = others.map(|(metric, value)| [metric.title().to_owned(), number(Some(value))]);
    let classes = evaluation
        .classes
        .as_ref()
        .map(|report| class_tables(report, &evaluation.class_names))
        .unwrap_or_default();
    format!("{}{classes}", table(["METRIC", "VALUE"], known.into_iter().chain(others)))
}
