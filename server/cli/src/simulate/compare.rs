//! `folkmoot simulate --compare`: runs the task and its variants in the same worlds, and writes one report.

use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_coordinator::task::TaskState;
use folkmoot_simulation::{
    compare::{FinishedRun, differing, rounds_csv, run_key, shared_key, summaries_json},
    report::{Comparison, LeftOut, SeedRun, Variant, VariantSummary},
};
use serde::Serialize;

use super::{
    Args, CliError, Inputs, failed, results, simulate_one, state,
    variants::{self, NamedTask, Variants},
};
use crate::{output, replace};

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    summary: &'a VariantSummary,
    /// The path of the report.
    output: &'a str,
}

/// The inputs that all runs of a comparison share.
struct Shared {
    key: [u8; 32],
    /// True if versions are measured on the clients.
    on_clients: bool,
}

/// Compares the task with its variants.
///
/// # Errors
/// If a variant is invalid, a simulation fails, or a file cannot be written.
pub async fn run(args: &Args, inputs: &Inputs) -> Result<(), CliError> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let Variants { tasks, baseline, left_out } = variants::read(args, inputs)?;
    let seeds = args.seeds(inputs.settings.seed)?;
    let target = target(args, inputs)?;
    let descriptions: Vec<_> = tasks.iter().map(|task| task.description.clone()).collect();
    // If clients of one variant predict with weights of their own, that variant is measured on the clients. To be
    // comparable, all variants are then measured there.
    let on_clients = descriptions.iter().any(|description| description.plan.is_personal());
    let key = shared_key(&inputs.onnx, &inputs.source, inputs.trace.as_ref()).map_err(failed)?;
    let shared = Shared { key, on_clients };
    let mut variants = Vec::new();
    for (task, settings) in tasks.iter().zip(differing(&descriptions)) {
        let mut runs = Vec::new();
        for (place, seed) in seeds.iter().enumerate() {
            let number = variants.len() * seeds.len() + place + 1;
            let label = format!("{number}/{} {}, seed {seed}  ", tasks.len() * seeds.len(), task.name);
            let folder = output.join(&task.folder).join(format!("seed-{seed}"));
            runs.push(Box::pin(run_one(args, inputs, &shared, task, *seed, &folder, &label)).await?);
        }
        variants.push(Variant { name: task.name.clone(), settings, runs });
    }
    let comparison = Comparison {
        title: inputs.description.name.clone(),
        metric: results::metric(&inputs.description),
        target,
        seeds,
        variants,
        baseline,
        left_out,
    };
    let report = write(output, &comparison)?.display().to_string();
    print(args, &comparison, &report)
}

/// Returns the flag's target, or else the task's.
fn target(args: &Args, inputs: &Inputs) -> Result<Option<f64>, CliError> {
    match args.target {
        Some(target) if !target.is_finite() => Err(CliError::with_remedy(
            format!("--target is {target}; it must be finite"),
            "give a value of the held-out metric, for example 0.9",
        )),
        target => Ok(target.or(inputs.description.stop.target)),
    }
}

/// Runs a variant with one seed, or reads its result if it is complete and the runs are resumed.
async fn run_one(
    args: &Args,
    inputs: &Inputs,
    shared: &Shared,
    task: &NamedTask,
    seed: u64,
    folder: &Path,
    label: &str,
) -> Result<SeedRun, CliError> {
    let mut simulation = inputs.simulation(args, task.description.clone(), seed);
    simulation.settings.held_out_of_clients |= shared.on_clients;
    let key = run_key(&shared.key, &simulation).map_err(failed)?;
    let path = folder.join("run.json");
    let rounds = folder.join("rounds").with_extension(args.results.extension());
    let saved = || FinishedRun::from_json(&fs::read(&path).ok()?, &key);
    if let Some(run) = saved().filter(|_| args.resume && rounds.is_file()) {
        return Ok(run.into_seed_run());
    }
    // Without this file the run is not complete, should it fail.
    replace::check(&path)?;
    let _ = fs::remove_file(&path);
    let ran = Box::pin(simulate_one(args, simulation, Some(folder), label)).await;
    let (outcome, _) = ran.map_err(|error| CliError {
        message: format!("`{}` with seed {seed}: {}", task.name, error.message),
        ..error
    })?;
    let run = FinishedRun {
        key: key.clone(),
        clients: outcome.clients,
        client_metrics: outcome.client_metrics.clone(),
        state: state(&outcome),
        is_paused: matches!(outcome.state, TaskState::Paused { .. }),
        rounds: outcome.rounds,
    };
    let json = run.to_json().map_err(|error| CliError::new(error.to_string()))?;
    replace::write(&path, &json)?;
    let read = FinishedRun::from_json(json.as_bytes(), &key);
    Ok(read.expect("it was written with this key").into_seed_run())
}

/// Writes the files of a comparison and returns the path of the report.
fn write(folder: &Path, comparison: &Comparison) -> Result<PathBuf, CliError> {
    let html = comparison.html().map_err(|error| CliError::new(error.to_string()))?;
    let csv = rounds_csv(comparison).map_err(|error| CliError::new(error.to_string()))?;
    let json = summaries_json(comparison).map_err(|error| CliError::new(error.to_string()))?;
    replace::write(&folder.join("comparison.csv"), csv)?;
    replace::write(&folder.join("comparison.json"), json)?;
    let report = folder.join("comparison.html");
    replace::write(&report, html)?;
    Ok(report)
}

/// Prints a row for each variant.
fn print(args: &Args, comparison: &Comparison, report: &str) -> Result<(), CliError> {
    if args.shown.json {
        for summary in &comparison.summaries() {
            output::json_line(&output::json(&Line { summary, output: report })?)?;
        }
        for LeftOut { variant, reasons } in &comparison.left_out {
            let line = serde_json::json!({ "variant": variant, "left_out": reasons, "output": report });
            output::json_line(&line.to_string())?;
        }
        return Ok(());
    }
    let rows = comparison.shown().into_iter().map(|shown| {
        [
            shown.variant,
            shown.final_metric,
            shown.difference,
            shown.rounds_to_target,
            shown.virtual_time,
            shown.down_per_client,
            shown.up_per_client,
            shown.abandoned,
        ]
    });
    let until = match comparison.target_shown() {
        Some(target) => format!("ROUNDS TO {target}"),
        None => "ROUNDS TO TARGET".to_owned(),
    };
    let head = [
        "VARIANT",
        "HELD OUT",
        "DIFFERENCE",
        &until,
        "VIRTUAL TIME",
        "DOWN/CLIENT",
        "UP/CLIENT",
        "ABANDONED",
    ];
    let unit = match comparison.seeds.len() {
        1 => "One seed was run, so there are no confidence intervals; use --seeds 3 or more.".to_owned(),
        count => {
            format!("Means over {count} seeds ± half of the 95 % t interval. The differences are paired.")
        }
    };
    let left_out = comparison.left_out.iter().map(|one| {
        format!("\nleft out  {}, which does not fit the task: {}", one.variant, one.reasons.join("; "))
    });
    let left_out: String = left_out.collect();
    output::line(&format!("{}\n\n{unit}{left_out}\nreport  {report}", output::table(head, rows)))
}
