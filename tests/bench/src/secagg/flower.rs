//! Flower's secure aggregation: its own server workflow and client code, in a Python process, without a network.

use std::process::Command;

use serde::{Deserialize, Serialize};

use super::rows::Row;
use crate::{Failure, simulate::environment};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/secagg_flower.py");

/// The output of Flower's program.
#[derive(Deserialize)]
struct Report {
    /// The name of a module that the interpreter does not have.
    missing: Option<String>,
    #[serde(flatten)]
    measured: Option<Measured>,
}

/// The measurements of Flower, in CPU time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The time of the server for each update.
    pub server_seconds_per_update: f64,
    /// The time of one client.
    pub client_seconds: f64,
    /// The versions of Flower and NumPy.
    pub version: String,
}

/// Finds a Python interpreter that has Flower: the first of the given ones, or else the interpreter of an environment
/// that this function creates. Returns the reason if there is none.
pub fn interpreter(given: &[String]) -> Result<String, String> {
    let has_flower = |python: &&String| {
        let output = Command::new(python).args(["-c", "import flwr"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    match given {
        [] => environment::interpreter(),
        given => given.iter().find(has_flower).cloned().ok_or_else(|| {
            format!(
                "no given interpreter has Flower. Install it with `pip install '{}'`",
                environment::PACKAGE
            )
        }),
    }
}

/// Measures Flower's rounds with as many clients, drop-outs, neighbours and values as ours.
///
/// # Errors
/// Returns the errors of Flower if it fails.
pub fn measure(python: &str, ours: &Row, rounds: usize) -> Result<Measured, Failure> {
    let mut command = Command::new(python);
    command.arg(SCRIPT);
    for (name, value) in [
        ("--clients", ours.cohort),
        ("--vanished", ours.cohort - ours.report.updates),
        ("--neighbours", ours.neighbours as usize),
        ("--threshold", ours.threshold as usize),
        ("--values", ours.values),
        ("--rounds", rounds),
    ] {
        command.args([name, &value.to_string()]);
    }
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("Flower could not aggregate:\n{errors}").into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Report = serde_json::from_str(text.trim().lines().last().unwrap_or_default())?;
    let missing = || format!("`{python}` has no module {}", report.missing.unwrap_or_default());
    Ok(report.measured.ok_or_else(missing)?)
}

/// A round by Flower, compared with the same round by Folkmoot.
#[derive(Debug, Serialize)]
pub struct FlowerRow {
    /// Our round.
    pub ours: Row,
    /// Flower's round.
    pub flower: Measured,
    /// Flower's time of the server divided by ours.
    pub server_ratio: f64,
    /// Flower's time of a client divided by ours.
    pub client_ratio: f64,
}

impl FlowerRow {
    /// Compares the two rounds.
    pub fn of(ours: Row, flower: Measured) -> Self {
        let server_ratio = flower.server_seconds_per_update / ours.coordinator_seconds_per_update;
        let client_ratio = flower.client_seconds / ours.client_seconds;
        Self { ours, flower, server_ratio, client_ratio }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_measurement_or_names_a_module() {
        let report: Report = serde_json::from_str(r#"{"missing": "flwr"}"#).unwrap();
        assert!(report.measured.is_none() && report.missing.as_deref() == Some("flwr"));
        let text = r#"{"server_seconds_per_update": 0.5, "client_seconds": 0.25, "version": "1"}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        assert_eq!(report.measured.unwrap().server_seconds_per_update, 0.5);
    }

    #[test]
    fn without_flower_the_reason_says_how_to_install_it() {
        let reason = interpreter(&["no-such-python".into()]).unwrap_err();
        assert!(reason.contains("pip install 'flwr[simulation]=="), "{reason}");
    }
}
