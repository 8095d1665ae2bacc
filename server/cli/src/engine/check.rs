use std::collections::BTreeMap;
use std::path::PathBuf;

use folkmoot_engine::{GradientCheck, InspectedRemark, Inspection, Model};
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
/// Operators whose gradient is zero, although the rounded number follows the exact one.
const ROUNDING: [&str; 3] = ["Ceil", "Floor", "Round"];

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

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// Everything was compared, and all differences are small.
    Passed,
    /// A difference is too large, or a trained tensor has no gradient.
    Failed,
    /// No difference is too large, but something could not be compared.
    NotChecked,
}

#[derive(Serialize)]
struct Checked {
    /// The largest difference between the outputs of the engine and of tract, relative to the largest output. `None`
    /// if they could not be compared.
    output_difference: Option<f64>,
    /// The reason why tract cannot read or run the model.
    tract: Option<String>,
    gradient: GradientCheck,
    /// The decisions about the model's tensors that its author may not expect.
    remarks: Vec<InspectedRemark>,
    /// The parts of the model that the comparisons do not cover.
    not_checked: Vec<String>,
    verdict: Verdict,
    /// `true` if the verdict is `passed`.
    passed: bool,
}

/// Compares a model's output with that of tract, and its gradients with finite differences.
///
/// # Errors
/// If a file cannot be read, the plan does not fit the model, or a difference is too large.
pub fn run(args: &Args) -> Result<(), CliError> {
    let (file, model) = read_model(&args.model)?;
    let plan = args.plan.read(&model)?;
    let model = model.for_plan(&plan).map_err(failed(&args.model))?;
    let gradient = GradientCheck::new(&model, &plan, args.seed).map_err(failed(&args.model))?;
    let inspection = Inspection::new(&model, &plan).map_err(failed(&args.model))?;
    let features = inspection.input_shape.iter().product();
    let output = Some(inspection.output.as_str()).filter(|_| !inspection.outputs.is_empty());
    let inference = InferenceModel::from_onnx_for(&file.onnx, features, output);
    let inference = inference.map_err(|error| error.to_string());
    let (output_difference, tract) =
        match inference.and_then(|inference| compare(&model, &inference, args.seed)) {
            Ok(difference) => (Some(difference), None),
            Err(reason) => (None, Some(reason)),
        };
    let rounding = rounding(&gradient, &inspection.operators);
    let not_checked = not_checked(&model, tract.as_deref(), rounding);
    let verdict = verdict(&gradient, rounding, output_difference, &not_checked);
    let (remarks, passed) = (inspection.remarks, verdict == Verdict::Passed);
    let checked = Checked { output_difference, tract, gradient, remarks, not_checked, verdict, passed };
    args.output.print(&checked, text)?;
    match checked.verdict {
        Verdict::Failed => Err(CliError::new(format!("{}: the check failed", args.model.display()))),
        Verdict::Passed | Verdict::NotChecked => Ok(()),
    }
}

/// Returns the operator of the model that may be why the gradients differ from finite differences; `None` if they agree
/// or are infinite.
fn rounding(gradient: &GradientCheck, operators: &BTreeMap<String, usize>) -> Option<&'static str> {
    let differs = gradient.largest_difference.is_finite() && gradient.largest_difference > GRADIENT_TOLERANCE;
    ROUNDING.into_iter().find(|operator| differs && operators.contains_key(*operator))
}

fn verdict(
    gradient: &GradientCheck,
    rounding: Option<&str>,
    output_difference: Option<f64>,
    not_checked: &[String],
) -> Verdict {
    let is_wrong = (gradient.largest_difference > GRADIENT_TOLERANCE && rounding.is_none())
        || !gradient.without_gradient.is_empty()
        || output_difference.is_some_and(|difference| difference > OUTPUT_TOLERANCE);
    match (is_wrong, not_checked.is_empty()) {
        (true, _) => Verdict::Failed,
        (false, true) => Verdict::Passed,
        (false, false) => Verdict::NotChecked,
    }
}

/// Lists the parts of the model that the comparisons do not cover.
fn not_checked(model: &Model, tract: Option<&str>, rounding: Option<&str>) -> Vec<String> {
    let mut not_checked = Vec::new();
    not_checked.extend(tract.map(|reason| format!("the output, because tract cannot compute it: {reason}")));
    not_checked.extend(rounding.map(|operator| {
        format!(
            "the gradients, because {operator} rounds numbers: its gradient is zero, but the finite differences are not. \
             folkmoot.export.to_onnx writes such nodes for an embedding with padding_idx whose table is also read elsewhere"
        )
    }));
    if model.lookups().has_unchecked {
        let text = "the rows that the model looks up at positions that it computes from the features; a position out of \
                    range reads the nearest row";
        not_checked.push(text.to_owned());
    }
    not_checked
}

/// Runs both implementations on synthetic examples and returns the largest relative difference.
fn compare(model: &Model, inference: &InferenceModel, seed: u64) -> Result<f64, String> {
    let features = model.synthetic_features(ROWS, seed);
    let own = model.predict(&model.initial_weights(), &features, ROWS).map_err(|error| error.to_string())?;
    let theirs = inference.predict(&features, ROWS).map_err(|error| error.to_string())?;
    if own.len() != theirs.len() {
        return Err(format!("tract computes {} outputs instead of {}", theirs.len(), own.len()));
    }
    let largest = theirs.iter().fold(1e-12f64, |largest, y| largest.max(f64::from(y.abs())));
    let differences = own.iter().zip(&theirs).map(|(own, theirs)| f64::from((own - theirs).abs()) / largest);
    // A number that is NaN counts as the largest possible difference.
    let worst = |largest: f64, found: f64| if found.is_nan() { f64::INFINITY } else { largest.max(found) };
    Ok(differences.fold(0.0, worst))
}

fn text(checked: &Checked) -> String {
    let output = match checked.output_difference {
        Some(difference) => format!("{difference:.1e} of the largest output"),
        None => "not checked".into(),
    };
    let gradient = &checked.gradient;
    let still = gradient.without_gradient.iter().map(|name| {
        format!(
            "fault  the plan trains {name}, but the loss does not depend on it; add its name to `frozen`\n"
        )
    });
    let notes = checked.remarks.iter().map(|remark| format!("note   {}\n", remark.text));
    let open = checked.not_checked.iter().map(|what| format!("open   not checked: {what}\n"));
    format!(
        "output against tract                  {output}\n\
         gradient against finite differences   {:.1e} along {} directions of {} trained elements\n{}{}",
        gradient.largest_difference,
        gradient.directions,
        gradient.trained_elements,
        still.chain(notes).chain(open).collect::<String>(),
        match checked.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "FAILED",
            Verdict::NotChecked => "NOT CHECKED in full; what was compared agrees",
        }
    )
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{ImportLimits, onnx::build::mlp};

    use super::*;

    fn gradient(largest_difference: f64) -> GradientCheck {
        GradientCheck { directions: 8, largest_difference, trained_elements: 9, without_gradient: Vec::new() }
    }

    #[test]
    fn only_a_complete_comparison_without_a_difference_passes() {
        let good = gradient(GRADIENT_TOLERANCE / 2.0);
        let model = Model::from_onnx(&mlp(&[2, 3], 1), &ImportLimits::default()).unwrap();
        let complete = not_checked(&model, None, None);
        assert_eq!(verdict(&good, None, Some(0.0), &complete), Verdict::Passed);
        let without_tract = not_checked(&model, Some("no such operator"), None);
        assert_eq!(verdict(&good, None, None, &without_tract), Verdict::NotChecked);
        for wrong in [
            verdict(&gradient(f64::INFINITY), None, Some(0.0), &complete),
            verdict(&gradient(2.0 * GRADIENT_TOLERANCE), None, None, &without_tract),
            verdict(&good, None, Some(f64::INFINITY), &complete),
            verdict(
                &GradientCheck { without_gradient: vec!["mask".into()], ..good },
                None,
                Some(0.0),
                &complete,
            ),
        ] {
            assert_eq!(wrong, Verdict::Failed);
        }
    }

    #[test]
    fn gradients_of_rounded_numbers_are_not_compared() {
        let operators = BTreeMap::from([("Floor".to_owned(), 1), ("Gemm".to_owned(), 2)]);
        let different = gradient(2.0 * GRADIENT_TOLERANCE);
        assert_eq!(rounding(&different, &operators), Some("Floor"));
        assert_eq!(rounding(&different, &BTreeMap::from([("Gemm".to_owned(), 2)])), None);
        assert_eq!(rounding(&gradient(GRADIENT_TOLERANCE / 2.0), &operators), None);
        assert_eq!(rounding(&gradient(f64::INFINITY), &operators), None);
        let model = Model::from_onnx(&mlp(&[2, 3], 1), &ImportLimits::default()).unwrap();
        let open = not_checked(&model, None, Some("Floor"));
        assert_eq!(verdict(&different, Some("Floor"), Some(0.0), &open), Verdict::NotChecked);
        assert_eq!(verdict(&different, Some("Floor"), Some(1.0), &open), Verdict::Failed);
    }
}
