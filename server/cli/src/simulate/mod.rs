//! `folkmoot simulate`: runs a task in a virtual world, and writes results and a report.

mod args;
mod compare;
mod results;
mod screen;
mod variants;

use std::{fs, path::Path, sync::Arc};

pub use args::{Args, read_world};
use bytes::Bytes;
use folkmoot_client::read_model_file;
use folkmoot_coordinator::task::{TaskDescription, TaskState};
use folkmoot_data::{Dataset, ReadOptions, schema::DataSchema};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_simulation::{
    contributions::Contributions,
    device::Trace,
    functions::CallingProcess,
    simulate::{DataSource, Outcome, SimulateError, Simulation, WorldSettings, simulate},
};
use folkmoot_telemetry::{LogConfig, LogFormat, init_log};
use serde::Serialize;

use self::{results::Results, screen::Screen};
use super::{CliError, data::read_schema, output::or_dash, task::check::read_for};

/// The summary of a simulation.
#[derive(Serialize)]
struct Summary {
    /// The number of rounds that committed a version.
    committed: usize,
    /// The number of abandoned rounds.
    abandoned: usize,
    version: u64,
    state: String,
    virtual_seconds: f64,
    seconds: f64,
    client_rounds: u64,
    client_rounds_per_second: f64,
    check_ins: u64,
    events: u64,
    crashes: u64,
    held_out_metric: Option<f64>,
    best_metric: Option<f64>,
    bytes_down: u64,
    bytes_up: u64,
    /// The contributions of the clients; absent if they were not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    contributions: Option<Contributions>,
    /// The path of the report.
    output: Option<String>,
}

/// The files that a simulation needs, read and checked.
struct Inputs {
    model: Model,
    onnx: Bytes,
    settings: WorldSettings,
    description: TaskDescription,
    source: DataSource,
    trace: Option<Trace>,
}

/// Simulates a task, or compares variants of it.
///
/// # Errors
/// If a file is invalid, or the simulation fails.
pub async fn run(args: Args) -> Result<(), CliError> {
    let log = LogConfig { format: LogFormat::Text, level: "error".into() };
    init_log(&log, std::env::var("RUST_LOG").ok().as_deref())?;
    let inputs = Inputs::read(&args)?;
    if !args.compare.is_empty() {
        return Box::pin(compare::run(&args, &inputs)).await;
    }
    let mut simulation = inputs.simulation(&args, inputs.description.clone(), inputs.settings.seed);
    if !args.functions.is_empty() {
        simulation.functions = Some(Arc::new(CallingProcess::parent(args.functions.clone())));
    }
    let began = folkmoot_rounds::clock::stopwatch();
    let (outcome, report) = Box::pin(simulate_one(&args, simulation, args.output.as_deref(), "")).await?;
    let summary = summary(&outcome, began.elapsed().as_secs_f64(), report);
    args.shown.print(&summary, text)
}

/// Runs one simulation to its end, shows its progress and writes its results to a folder. Returns the path of the report.
async fn simulate_one(
    args: &Args,
    mut simulation: Simulation,
    folder: Option<&Path>,
    label: &str,
) -> Result<(Outcome, Option<String>), CliError> {
    let kept = folder.filter(|_| args.resume).map(|folder| folder.join("kept"));
    simulation.kept.clone_from(&kept);
    let results = folder.map(|folder| Results::open(folder, args.results, simulation.onnx.to_vec()));
    let settings = simulation.settings.clone();
    let mut screen = Screen::new(args, label, &simulation.description, results.transpose()?);
    let outcome = Box::pin(simulate(simulation, &mut screen)).await.map_err(failed)?;
    let report = screen.end(&settings, &outcome)?;
    if let Some(kept) = kept {
        // The simulation is complete, so there is nothing to resume.
        let _ = fs::remove_dir_all(kept);
    }
    Ok((outcome, report))
}

impl Inputs {
    fn read(args: &Args) -> Result<Self, CliError> {
        let settings = args.settings()?;
        let (onnx, model) = read_model(&args.model)?;
        let description = read_for(&args.task, Some(&model))??;
        let source = data(args, &settings, description.data_schema())?;
        let trace = settings.devices.trace.as_deref().map(|path| read_trace(Path::new(path))).transpose()?;
        Ok(Self { model, onnx: onnx.into(), settings, description, source, trace })
    }

    /// Returns the simulation of a task in this world with a seed.
    fn simulation(&self, args: &Args, description: TaskDescription, seed: u64) -> Simulation {
        Simulation {
            description,
            onnx: self.onnx.clone(),
            settings: WorldSettings { seed, ..self.settings.clone() },
            source: self.source.clone(),
            trace: self.trace.clone(),
            threads: args.threads(),
            kept: None,
            evaluate_every: args.evaluate_every,
            sabotage: None,
            functions: None,
        }
    }
}

fn data(args: &Args, settings: &WorldSettings, schema: Option<&DataSchema>) -> Result<DataSource, CliError> {
    let Some(path) = &args.data else {
        return match settings.synthetic {
            Some(_) => Ok(DataSource::Made),
            None => Err(CliError::with_remedy(
                "there are no examples",
                "give a file or folder with --data, or add [synthetic] to the file given with --world",
            )),
        };
    };
    let options = || -> Result<ReadOptions, CliError> {
        Ok(ReadOptions {
            label_column: args.label_column.clone(),
            group_column: args.group_column.clone(),
            schema: read_schema(args.schema.as_deref())?,
            ..ReadOptions::default()
        })
    };
    let training = read_data(options()?, path, schema)?;
    let held_out = args.held_out.as_deref().map(|path| read_data(options()?, path, schema)).transpose()?;
    Ok(DataSource::Given { training, held_out: held_out.map(|dataset| dataset.examples) })
}

/// Reads a model file. Returns its bytes, too.
///
/// # Errors
/// If the file is no model that can be trained.
pub fn read_model(path: &Path) -> Result<(Vec<u8>, Model), CliError> {
    let onnx = read_model_file(path)?.onnx;
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(&onnx, &limits)
        .map_err(|error| CliError::new(format!("{}: {error}", path.display())))?;
    Ok((onnx, model))
}

/// Reads examples, a table or images by the options' schema, or else by the task's.
///
/// # Errors
/// If the examples cannot be read.
pub fn read_data(
    options: ReadOptions,
    path: &Path,
    schema: Option<&DataSchema>,
) -> Result<Dataset, CliError> {
    let read = options.or_schema(schema, path).and_then(|options| folkmoot_data::read(path, &options));
    read.map_err(|error| CliError::new(error.to_string()))
}

/// Reads the trace of the devices.
///
/// # Errors
/// If the file cannot be read.
pub fn read_trace(path: &Path) -> Result<Trace, CliError> {
    let file = fs::File::open(path).map_err(CliError::read(path))?;
    Trace::read(&path.display().to_string(), file).map_err(|error| CliError::new(error.to_string()))
}

fn failed(error: SimulateError) -> CliError {
    CliError::new(error.to_string())
}

fn summary(outcome: &Outcome, seconds: f64, written: Option<String>) -> Summary {
    let metrics = outcome.rounds.iter().filter_map(|row| row.held_out_metric);
    let committed = outcome.rounds.iter().filter(|row| row.version.is_some()).count();
    Summary {
        committed,
        abandoned: outcome.rounds.len() - committed,
        version: outcome.version,
        state: state(outcome),
        virtual_seconds: outcome.virtual_seconds,
        seconds,
        client_rounds: outcome.client_rounds,
        client_rounds_per_second: outcome.client_rounds as f64 / seconds.max(1e-9),
        check_ins: outcome.check_ins,
        events: outcome.events,
        crashes: outcome.crashes,
        held_out_metric: outcome.last_metric(),
        best_metric: metrics.reduce(f64::max),
        bytes_down: outcome.rounds.iter().map(|row| row.bytes_down).sum(),
        bytes_up: outcome.rounds.iter().map(|row| row.bytes_up).sum(),
        contributions: outcome.contributions.clone(),
        output: written,
    }
}

/// Returns the state of the task at the end, with the reason of a pause.
fn state(outcome: &Outcome) -> String {
    match outcome.state {
        TaskState::Paused { reason: Some(reason), .. } => format!("paused ({})", reason.code()),
        state => state.name().into(),
    }
}

fn text(summary: &Summary) -> String {
    let Summary { committed, abandoned, state, virtual_seconds, seconds, client_rounds, .. } = summary;
    let metric = or_dash(summary.held_out_metric.map(|value| format!("{value:.4}")));
    let output = summary.output.as_ref().map(|path| format!("\nreport          {path}")).unwrap_or_default();
    format!(
        "task            {state} after {committed} committed and {abandoned} abandoned rounds\n\
         held out        {metric}\n\
         virtual time    {virtual_seconds:.0} s\n\
         real time       {seconds:.1} s\n\
         client rounds   {client_rounds} ({:.0} a second), {} check-ins{output}{}",
        summary.client_rounds_per_second,
        summary.check_ins,
        summary.contributions.as_ref().map(|one| format!("\n\n{}", one.text())).unwrap_or_default()
    )
}
