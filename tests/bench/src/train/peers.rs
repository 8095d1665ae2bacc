//! Frameworks that are measured by separate programs: a Python script, and a package with its own lock file.
//!
//! Each program gets a folder with the model and the batch, and prints one JSON object.

use std::{
    fs,
    process::{Command, Output},
};

use serde::Deserialize;

use super::{
    larger,
    network::{BATCH_SIZE, Network, features, labels},
    row::Row,
    trainee::CHECKED_STEPS,
};
use crate::{Failure, folder::TemporaryFolder};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/train_peers.py");
/// The manifest of burn's package.
pub const BURN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/burn/Cargo.toml");
/// The default target folder for burn.
pub const BURN_TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/burn");

/// The peer that has a script of its own.
const TORCH: &str = "torch";
/// The names of the Python peers in the script, and the commands that install them.
const PYTHON_PEERS: [(&str, &str); 3] = [
    (TORCH, larger::INSTALLATION),
    ("onnxruntime-training", "pip install onnxruntime-training==1.19.2 onnx==1.16.2 'numpy<2'"),
    ("jax", "pip install jax"),
];

/// The output of a peer's program.
#[derive(Deserialize)]
struct Report {
    /// The name of a module that the interpreter does not have.
    missing: Option<String>,
    #[serde(flatten)]
    measured: Option<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    cpu_ms: f64,
    loss: f64,
    peak_memory_mib: f64,
    version: String,
}

/// A folder with the inputs of one model.
pub struct Inputs {
    model: Network,
    folder: TemporaryFolder,
}

impl Inputs {
    /// Writes the model, its weights in schema order, and the batch, as little-endian float32 and int32.
    pub fn write(model: Network) -> Result<Self, Failure> {
        let folder = TemporaryFolder::new(model.name())?;
        let floats =
            |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
        let classes: Vec<u8> = labels(BATCH_SIZE).iter().flat_map(|class| class.to_le_bytes()).collect();
        let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes);
        write("model.onnx", model.onnx())?;
        write("weights.f32", floats(&model.model()?.initial_weights()))?;
        write("features.f32", floats(&features(BATCH_SIZE)))?;
        write("labels.i32", classes)?;
        Ok(Self { model, folder })
    }

    /// Measures each Python peer with the first interpreter that has it. If no interpreter has a peer, prints this to
    /// standard error.
    ///
    /// # Errors
    /// Fails if an installed peer fails.
    pub fn measure_python(&self, interpreters: &[String]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for (peer, installation) in PYTHON_PEERS {
            match self.measure_with_one_of(interpreters, peer)? {
                Ok(row) => rows.push(row),
                Err(reason) => eprintln!("{peer} is skipped: {reason}. Install it with `{installation}`"),
            }
        }
        Ok(rows)
    }

    /// Compiles and measures burn.
    ///
    /// # Errors
    /// Returns the message of the compiler or of burn.
    pub fn measure_burn(&self) -> Result<Row, Failure> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["run", "--quiet", "--release", "--manifest-path", BURN]);
        if std::env::var_os("CARGO_TARGET_DIR").is_none() {
            command.args(["--target-dir", BURN_TARGET]);
        }
        let output = self.add_arguments(command.args(["--", "--peer", "burn"])).output()?;
        let report = self.report(&output, "burn")?;
        let measured = report.measured.ok_or("burn did not print what it measured")?;
        Ok(self.row("burn flex", measured))
    }

    /// Returns the peer's row, or the reason why no interpreter could measure it.
    fn measure_with_one_of(
        &self,
        interpreters: &[String],
        peer: &str,
    ) -> Result<Result<Row, String>, Failure> {
        let mut reason = "no interpreter was given".to_owned();
        for interpreter in interpreters {
            let mut command = Command::new(interpreter);
            match peer {
                TORCH => command.args([larger::SCRIPT, "measure"]),
                _ => command.args([SCRIPT, "--peer", peer]),
            };
            self.add_arguments(&mut command);
            for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
                command.env(variable, "1");
            }
            let Ok(output) = command.output() else {
                reason = format!("`{interpreter}` cannot be started");
                continue;
            };
            match self.report(&output, peer)? {
                Report { measured: Some(measured), .. } => return Ok(Ok(self.row(peer, measured))),
                Report { missing, .. } => {
                    reason = format!("`{interpreter}` has no module {}", missing.unwrap_or_default());
                }
            }
        }
        Ok(Err(reason))
    }

    fn add_arguments<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        larger::add_arguments(command, self.model.name(), self.folder.path(), CHECKED_STEPS)
    }

    fn report(&self, output: &Output, peer: &str) -> Result<Report, Failure> {
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("{peer} could not train {}:\n{errors}", self.model.name()).into());
        }
        // The report is the last line, because libraries may print lines before it.
        Ok(serde_json::from_str(text.trim().lines().last().unwrap_or_default())?)
    }

    fn row(&self, peer: &str, measured: Measured) -> Row {
        Row {
            loss: Some(measured.loss),
            peak_memory_mib: Some(measured.peak_memory_mib),
            version: Some(measured.version),
            ..Row::of_step(self.model, peer, measured.cpu_ms)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_measurement_or_names_a_module() {
        let report: Report = serde_json::from_str(r#"{"missing": "jax"}"#).unwrap();
        assert!(report.measured.is_none() && report.missing.as_deref() == Some("jax"));
        let text = r#"{"cpu_ms": 1.5, "loss": 2.0, "peak_memory_mib": 100.0, "version": "1"}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        assert_eq!(report.measured.unwrap().cpu_ms, 1.5);
    }
}
