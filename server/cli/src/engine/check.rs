use std::path::PathBuf;

use folkmoot_engine::{GradientCheck, Model};
use folkmoot_inference::InferenceModel;
use serde::Serialize;

use super::{CliError, failed, plan::PlanArgs, read_model};
use crate::output::OutputArgs;

/// The number of synthetic examples for the comparison with tract.
const ROWS: usize = 8;
/// The largest allowed difference between the two outputs, relative to the largest output.
const OUTPUT_TOLERANCE: f64 = 1e-4;
/// The largest allowed difference between gradients and finite differences.
const GRADIENT_TOLERANCE: f64 = 1e-4;

/// The flags of `folkmoot engine check`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file of the model.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    #[command(flatten)]
    plan: PlanArgs,
    /// The seed for the synthetic examples and for the random directions along which gradients are compared.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Checked {
    /// The largest difference between the outputs of the engine and of tract, relative to the largest output. `None`
    /// if tract cannot read the model.
    output_difference: Option<f64>,
    /// The reason why tract cannot read the model.
    tract: Option<String>,
    gradient: GradientCheck,
    passed: bool,
}

/// Compares a model's output with that of tract, and its gradients with finite differences.
///
/// # Errors
/// If a file cannot be read, the plan does not fit the model, or a difference is too large.
pub fn run(args: &Args) -> Result<(), CliError> {
    let (onnx, model) = read_model(&args.model)?;
    let plan = args.plan.read(&model)?;
    let gradient = GradientCheck::new(&model, &plan, args.seed).map_err(failed(&args.model))?;
    let (output_difference, tract) = match InferenceModel::from_onnx(&onnx) {
        Ok(inference) => (Some(compare(&model, &inference).map_err(failed(&args.model))?), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let passed = gradient.largest_difference <= GRADIENT_TOLERANCE
        && output_difference.is_none_or(|difference| difference <= OUTPUT_TOLERANCE);
    let checked = Checked { output_difference, tract, gradient, passed };
    args.output.print(&checked, text)?;
    match checked.passed {
        true => Ok(()),
        false => Err(CliError::new(format!("{}: the check failed", args.model.display()))),
    }
}

/// Runs both implementations on synthetic examples and returns the largest relative difference.
fn compare(model: &Model, inference: &InferenceModel) -> Result<f64, String> {
    let width: usize = model.input_shape().iter().product();
    // Small whole numbers are valid as pixels, measurements and table rows.
    let features: Vec<f32> = (0..ROWS * width).map(|index| (index * 7 % 5) as f32).collect();
    let own = model.predict(&model.initial_weights(), &features, ROWS).map_err(|error| error.to_string())?;
    let theirs = inference.predict(&features, ROWS).map_err(|error| error.to_string())?;
    let largest = theirs.iter().fold(1e-12f64, |largest, y| largest.max(f64::from(y.abs())));
    let differences = own.iter().zip(&theirs).map(|(own, theirs)| f64::from((own - theirs).abs()) / largest);
    Ok(differences.fold(0.0, f64::max))
}

fn text(checked: &Checked) -> String {
    let output = match (checked.output_difference, &checked.tract) {
        (Some(difference), _) => format!("{difference:.1e} of the largest output"),
        (None, Some(reason)) => format!("not compared: {reason}"),
        (None, None) => "not compared".into(),
    };
    format!(
        "output against tract                  {output}\n\
         gradient against finite differences   {:.1e} along {} directions\n\
         {}",
        checked.gradient.largest_difference,
        checked.gradient.directions,
        if checked.passed { "passed" } else { "FAILED" }
    )
}
