//! Starts an executor in a separate process and reads its report.

use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;

use super::model::LargerModel;
use super::row::LargerRow;
use super::{SCRIPT, add_arguments};
use crate::Failure;

/// A model in a folder, to be trained on a number of threads.
pub struct Run<'a> {
    pub model: LargerModel,
    pub threads: usize,
    pub folder: &'a Path,
    pub interpreter: &'a str,
    /// The shape of an example.
    pub shape: &'a [usize],
}

/// The output of the script or of our executor's process.
#[derive(Deserialize)]
pub struct Report {
    /// The name of a module that the interpreter does not have.
    missing: Option<String>,
    /// The shape of an example, from the script's action `write`.
    pub shape: Option<Vec<usize>>,
    cpu_ms: Option<f64>,
    /// The loss in the last checked step; from the action `write`, in float64.
    pub loss: Option<f64>,
    peak_memory_mib: Option<f64>,
    version: Option<String>,
}

impl Report {
    /// Reads the report in the last line, because libraries may print lines before it.
    ///
    /// # Errors
    /// Returns the process's messages if it failed.
    pub fn of(output: &Output, name: &str) -> Result<Self, Failure> {
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("{name} failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_str(text.trim().lines().last().unwrap_or_default())?)
    }
}

impl Run<'_> {
    /// Measures our executor.
    ///
    /// # Errors
    /// Fails if the training fails.
    pub fn folkmoot(&self) -> Result<LargerRow, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        command.args(["larger-trainee", "--shape", &shape.join(","), "--folder"]).arg(self.folder);
        command.args(["--checked-steps", &self.model.checked_steps().to_string()]);
        self.measure("folkmoot", &mut command)
    }

    /// Measures PyTorch.
    ///
    /// # Errors
    /// Fails if the training fails.
    pub fn torch(&self) -> Result<LargerRow, Failure> {
        let mut command = Command::new(self.interpreter);
        command.arg(SCRIPT).arg("measure");
        add_arguments(&mut command, self.model.name(), self.folder, self.model.checked_steps());
        self.measure("torch", &mut command)
    }

    fn measure(&self, executor: &str, command: &mut Command) -> Result<LargerRow, Failure> {
        let threads = self.threads.to_string();
        for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"] {
            command.env(variable, &threads);
        }
        let output = command.args(["--threads", &threads]).output()?;
        let report = Report::of(&output, executor)?;
        let lacks = |what: &str| {
            let module = report.missing.as_deref().unwrap_or("-");
            format!("{executor} did not report its {what}; missing module: {module}")
        };
        Ok(LargerRow {
            model: self.model,
            executor: executor.to_owned(),
            threads: self.threads,
            cpu_ms: report.cpu_ms.ok_or_else(|| lacks("CPU time"))?,
            peak_memory_mib: report.peak_memory_mib.ok_or_else(|| lacks("memory"))?,
            loss: report.loss.ok_or_else(|| lacks("loss"))?,
            version: report.version,
        })
    }
}
