//! Measures Flower's simulation with the same model, data sizes and local work. It is a separate program, like the
//! other peers.

use std::{fs, path::Path, process::Command};

use folkmoot_engine::{Examples, Labels};
use serde::Deserialize;

use super::{
    case::{Case, LEARNING_RATE},
    environment,
};
use crate::Failure;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/simulate_flower.py");

/// The output of Flower's program.
#[derive(Deserialize)]
struct Report {
    /// The name of a module that the interpreter does not have.
    missing: Option<String>,
    #[serde(flatten)]
    measured: Option<Measured>,
}

/// The measurements of Flower.
#[derive(Clone, Debug, Deserialize)]
pub struct Measured {
    /// The number of seconds from the start of the program to its end.
    pub seconds: f64,
    /// The number of seconds from the end of the first round to the end of the last round. This excludes the start of
    /// Ray and its actors.
    pub later_rounds_seconds: f64,
    /// The number of completed rounds.
    pub rounds: u64,
    /// The number of local steps of a client in a round.
    pub steps_per_client: f64,
    /// The mean loss of the final weights over all examples.
    pub loss: f64,
    /// The versions of Flower and Ray.
    pub version: String,
}

/// Writes the examples and the initial weights to files, as little-endian float32 and int32.
///
/// # Errors
/// If a file cannot be written.
pub fn write_inputs(folder: &Path, examples: &Examples, weights: &[f32]) -> Result<(), Failure> {
    let Labels::Classes(classes) = examples.labels() else {
        return Err("the examples have no classes".into());
    };
    let floats =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let classes: Vec<u8> = classes.iter().flat_map(|class| class.to_le_bytes()).collect();
    fs::write(folder.join("features.f32"), floats(examples.features()))?;
    fs::write(folder.join("labels.i32"), classes)?;
    fs::write(folder.join("weights.f32"), floats(weights))?;
    Ok(())
}

/// Measures Flower with the first of the given interpreters that has it. If none are given, creates an environment for
/// it.
///
/// Returns the reason for skipping Flower if Python, the network or Flower is missing.
///
/// # Errors
/// Returns the errors of Flower if it fails.
pub fn measure(
    case: &Case,
    folder: &Path,
    interpreters: &[String],
) -> Result<Result<Measured, String>, Failure> {
    let interpreters = match interpreters {
        [] => match environment::interpreter() {
            Ok(interpreter) => vec![interpreter],
            Err(reason) => return Ok(Err(reason)),
        },
        given => given.to_vec(),
    };
    let mut reason = "no interpreter was given".to_owned();
    for interpreter in interpreters {
        let Ok(output) = command(&interpreter, case, folder).output() else {
            reason = format!("`{interpreter}` cannot be started");
            continue;
        };
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("Flower could not simulate {}:\n{errors}", case.name).into());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        match serde_json::from_str(text.trim().lines().last().unwrap_or_default())? {
            Report { measured: Some(measured), .. } => return Ok(Ok(measured)),
            Report { missing, .. } => {
                reason = format!("`{interpreter}` has no module {}", missing.unwrap_or_default());
            }
        }
    }
    Ok(Err(reason))
}

fn command(interpreter: &str, case: &Case, folder: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(SCRIPT).arg("--folder").arg(folder);
    for (name, value) in [
        ("--clients", case.clients.to_string()),
        ("--cohort", case.cohort.to_string()),
        ("--rounds", case.rounds.to_string()),
        ("--batch-size", case.batch_size.to_string()),
        ("--learning-rate", LEARNING_RATE.to_string()),
        ("--threads", case.threads.to_string()),
    ] {
        command.args([name, &value]);
    }
    // A client has one core, so NumPy's library must not start more threads.
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(variable, "1");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_measurement_or_names_a_module() {
        let report: Report = serde_json::from_str(r#"{"missing": "flwr"}"#).unwrap();
        assert!(report.measured.is_none() && report.missing.as_deref() == Some("flwr"));
        let text = r#"{"seconds": 20.5, "later_rounds_seconds": 10.0, "rounds": 100, "steps_per_client": 6.0,
                       "loss": 0.5, "version": "1"}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        assert_eq!(report.measured.unwrap().seconds, 20.5);
    }

    #[test]
    fn without_python_the_reason_is_told() {
        let (case, folder) = (Case::logistic_regression("b", 1, 1, 1), std::env::temp_dir());
        let left_out = measure(&case, &folder, &["no-such-python".into()]).unwrap().unwrap_err();
        assert_eq!(left_out, "`no-such-python` cannot be started");
    }
}
