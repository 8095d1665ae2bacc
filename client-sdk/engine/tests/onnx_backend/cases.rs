//! Runs the tests and compares the results.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use folkmoot_engine::onnx::network::{Network, NetworkError, NetworkTensor, decode_tensor};
use folkmoot_engine::{ImportError, ImportLimits};

/// The relative tolerance of an element; there is an absolute tolerance too.
const RELATIVE_TOLERANCE: f64 = 1e-3;
const ABSOLUTE_TOLERANCE: f64 = 1e-6;

/// One test of the ONNX project.
pub struct Case {
    pub name: String,
    pub operators: BTreeSet<String>,
    pub outcome: Outcome,
    /// The difference between the gradient and central differences, if the test has a gradient.
    pub gradient_difference: Option<f64>,
}

/// The result of a test.
pub enum Outcome {
    Passed,
    /// The importer reports that it does not support the model.
    Refused {
        /// The unsupported operator; `None` if the whole model is refused.
        operator: Option<String>,
        reason: String,
    },
    Failed(String),
}

/// Runs every test in a folder, in name order.
pub fn in_folder(folder: &Path) -> Vec<Case> {
    let entries = fs::read_dir(folder).expect("the folder of tests can be read");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_dir()).map(|path| run(path)).collect()
}

fn run(path: &Path) -> Case {
    let name = path.file_name().expect("a folder has a name").to_string_lossy().into_owned();
    let bytes = fs::read(path.join("model.onnx")).expect("a test has a model");
    let network = match Network::from_onnx(&bytes, &ImportLimits::default()) {
        Ok(network) => network,
        Err(error) => return not_read(name, &error),
    };
    let operators = network.operators();
    let inputs = tensors(path, "input");
    let gradient_difference = network.gradient_difference(&inputs, 1).ok().flatten();
    let outcome = match network.run(&inputs) {
        Ok(outputs) => compare(&outputs, &tensors(path, "output"), relative_tolerance(&name)),
        Err(NetworkError::Import(ImportError::UnsupportedUse { operator, reason, .. })) => {
            Outcome::Refused { operator: Some(operator), reason }
        }
        Err(error) => Outcome::Failed(error.to_string()),
    };
    Case { name, operators, outcome, gradient_difference }
}

fn not_read(name: String, error: &ImportError) -> Case {
    let reason = error.to_string();
    let outcome = match error {
        ImportError::UnsupportedOpset { .. } => Outcome::Refused { operator: None, reason },
        _ => Outcome::Failed(reason),
    };
    Case { name, operators: BTreeSet::new(), outcome, gradient_difference: None }
}

/// The expected results are rounded to the model's precision, those of composed operators after every step. bfloat16
/// has eight bits and float16 has eleven; the engine does not round.
fn relative_tolerance(name: &str) -> f64 {
    match name.to_lowercase() {
        name if name.contains("bfloat16") => 1.0 / 256.0,
        name if name.contains("bf16") => 1.0 / 64.0,
        name if name.contains("fp16") => 1.0 / 512.0,
        _ => RELATIVE_TOLERANCE,
    }
}

fn tensors(path: &Path, kind: &str) -> Vec<NetworkTensor> {
    let files = (0..).map(|index| path.join(format!("{kind}_{index}.pb"))).take_while(|path| path.exists());
    let read = |path| decode_tensor(&fs::read(path).expect("a tensor can be read"));
    files.map(|path| read(path).expect("a tensor is of a plain type")).collect()
}

fn compare(found: &[NetworkTensor], expected: &[NetworkTensor], relative: f64) -> Outcome {
    if found.len() != expected.len() {
        return Outcome::Failed(format!("{} outputs instead of {}", found.len(), expected.len()));
    }
    for (output, (found, expected)) in found.iter().zip(expected).enumerate() {
        if found.shape != expected.shape {
            return Outcome::Failed(format!(
                "output {output} has shape {:?} instead of {:?}",
                found.shape, expected.shape
            ));
        }
        let elements = found.elements.iter().zip(&expected.elements).enumerate();
        for (element, (found, expected)) in elements {
            if !is_close(*found, *expected, relative) {
                return Outcome::Failed(format!(
                    "element {element} of output {output} is {found} instead of {expected}"
                ));
            }
        }
    }
    Outcome::Passed
}

fn is_close(found: f64, expected: f64, relative: f64) -> bool {
    let tolerance = ABSOLUTE_TOLERANCE + relative * expected.abs();
    found == expected || (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= tolerance
}
