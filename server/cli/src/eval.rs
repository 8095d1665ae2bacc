use std::path::PathBuf;

use folkmoot_inference::InferenceModel;
use serde::Serialize;

use super::{
    CliError,
    examples_file::ExamplesArgs,
    output::{OutputArgs, or_dash},
};

/// The flags of `folkmoot eval`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file of the model.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    #[command(flatten)]
    examples: ExamplesArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Evaluation {
    example_count: u64,
    mean_loss: Option<f64>,
    /// The accuracy, 0 to 1; `None` if labels are not class numbers.
    accuracy: Option<f64>,
}

/// Evaluates a model's loss and accuracy on local data.
///
/// # Errors
/// If a file cannot be read, or the examples do not fit the model.
pub async fn run(args: Args) -> Result<(), CliError> {
    let Args { model, examples, output } = args;
    let measured = tokio::task::spawn_blocking(move || evaluate(&model, &examples)).await;
    let evaluation =
        measured.map_err(|error| CliError::new(format!("the evaluation was interrupted: {error}")))??;
    output.print(&evaluation, |evaluation| {
        let accuracy = evaluation.accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy));
        format!(
            "examples   {}\nmean loss  {}\naccuracy   {}",
            evaluation.example_count,
            or_dash(evaluation.mean_loss.map(|loss| format!("{loss:.6}"))),
            or_dash(accuracy)
        )
    })
}

fn evaluate(path: &PathBuf, examples: &ExamplesArgs) -> Result<Evaluation, CliError> {
    let onnx = std::fs::read(path).map_err(CliError::read(path))?;
    let failed = |error| CliError::new(format!("{}: {error}", path.display()));
    let model = InferenceModel::from_onnx(&onnx).map_err(failed)?;
    let examples = examples.read()?;
    let metrics = model.evaluate(&examples).map_err(failed)?;
    let has_classes = matches!(examples.labels(), folkmoot_engine::Labels::Classes(_));
    Ok(Evaluation {
        example_count: metrics.example_count,
        mean_loss: metrics.mean_loss(),
        accuracy: metrics.accuracy().filter(|_| has_classes),
    })
}
