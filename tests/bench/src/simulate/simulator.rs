//! Runs one simulation in a separate process, so that its memory and threads can be measured separately.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use folkmoot_data::Dataset;
use folkmoot_simulation::simulate::{DataSource, Simulation, simulate};
use serde::{Deserialize, Serialize};

use super::{case::Case, watch::Watch};
use crate::{Failure, clock, process};

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    /// The case as JSON
    #[arg(long)]
    case: String,
    /// File for the final weights
    #[arg(long)]
    weights: PathBuf,
}

/// The output of the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The number of seconds for generating the examples before the simulation.
    pub data_seconds: f64,
    /// The number of seconds of the simulation, from its settings to its final weights.
    pub seconds: f64,
    /// The number of committed rounds.
    pub committed: u64,
    /// The number of abandoned rounds, for which too few clients waited or reported in time.
    pub abandoned: u64,
    /// The number of trainings.
    pub client_rounds: u64,
    /// The number of check-ins.
    pub check_ins: u64,
    /// The number of simulated events.
    pub events: u64,
    /// The number of virtual seconds that passed.
    pub virtual_seconds: f64,
    /// The peak memory of the process in bytes; `None` if the kernel does not report it.
    pub peak_bytes: Option<u64>,
    /// The training threads' share of the process's CPU time; `None` if the kernel does not report it.
    pub training_share: Option<f64>,
    /// The share of wall-clock time in which the event loop used the processor; `None` if the kernel does not report
    /// it.
    pub loop_share: Option<f64>,
}

/// Simulates, writes the weights and prints the report as JSON.
///
/// # Errors
/// Fails if the case cannot be simulated.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let case: Case = serde_json::from_str(&arguments.case)?;
    let began = clock::start();
    let examples = case.examples()?;
    let data_seconds = began.elapsed().as_secs_f64();
    let simulation = Simulation {
        description: case.description()?,
        onnx: case.onnx().into(),
        settings: case.settings()?,
        source: DataSource::Given { training: Dataset { examples, groups: None }, held_out: None },
        trace: None,
        threads: case.threads,
        kept: None,
        evaluate_every: 1,
        sabotage: None,
        functions: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut watch = Watch::start();
    let began = clock::start();
    let outcome = runtime.block_on(Box::pin(simulate(simulation, &mut watch)))?;
    let seconds = began.elapsed().as_secs_f64();
    let weights: Vec<u8> = outcome.weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    fs::write(&arguments.weights, weights)?;
    let committed = outcome.rounds.iter().filter(|row| row.version.is_some()).count() as u64;
    let report = Report {
        data_seconds,
        seconds,
        committed,
        abandoned: outcome.rounds.len() as u64 - committed,
        client_rounds: outcome.client_rounds,
        check_ins: outcome.check_ins,
        events: outcome.events,
        virtual_seconds: outcome.virtual_seconds,
        peak_bytes: process::peak_memory(std::process::id()).ok(),
        training_share: watch.training_share(),
        loop_share: watch.loop_share(seconds),
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// The result of a simulation in a separate process.
pub struct Simulated {
    /// The report that the process printed.
    pub report: Report,
    /// The final weights as little-endian float32.
    pub weights: Vec<u8>,
}

/// Runs a simulation in a separate process and waits for it.
///
/// # Errors
/// Fails if the process fails. Its messages go to standard error.
pub fn measure(case: &Case, folder: &Path) -> Result<Simulated, Failure> {
    let path = folder.join("weights.end");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["simulator", "--case", &serde_json::to_string(case)?]).arg("--weights").arg(&path);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} could not be simulated", case.name).into());
    }
    let report: Report = serde_json::from_slice(&output.stdout)?;
    Ok(Simulated { report, weights: fs::read(path)? })
}

/// Describes missing rounds or trainings; `None` if all work was done.
pub fn shortfall(case: &Case, report: &Report) -> Option<String> {
    let wanted = case.rounds * case.cohort;
    if report.committed == case.rounds && report.client_rounds >= wanted {
        return None;
    }
    let Report { committed, client_rounds, .. } = report;
    let name = &case.name;
    Some(format!(
        "{name}: {committed} of {} rounds and {client_rounds} of {wanted} trainings were done",
        case.rounds
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_was_not_done_is_told() {
        let case = Case::logistic_regression("many", 100, 10, 5);
        let text = r#"{"data_seconds": 1.0, "seconds": 1.0, "committed": 5, "abandoned": 0, "client_rounds": 50,
                       "check_ins": 60, "events": 70, "virtual_seconds": 80.0, "peak_bytes": null,
                       "training_share": null, "loop_share": null}"#;
        let report: Report = serde_json::from_str(text).unwrap();
        assert_eq!(shortfall(&case, &report), None);
        let few = Report { client_rounds: 49, ..report };
        assert_eq!(shortfall(&case, &few).unwrap(), "many: 5 of 5 rounds and 49 of 50 trainings were done");
    }
}
