//! `folkmoot attack`: tries attacks on a task before clients have it.

use std::path::Path;

use folkmoot_attack::{Args, CannotAttack, Inputs, Report, Screen, attack};
use folkmoot_client::read_model_file;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_data::{Dataset, ReadOptions};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_settings::toml_file;
use folkmoot_simulation::simulate::WorldSettings;

use super::{
    CliError, data::read_schema, output::OutputArgs, replace, simulate::read_trace, task::check::read_for,
};

/// Attacks a task, writes the report and prints a summary.
///
/// # Errors
/// If a file is invalid, an attack does not fit the task, or the report cannot be written.
pub async fn run(args: Args) -> Result<(), CliError> {
    let inputs = inputs(&args)?;
    let settings = args.settings(&inputs)?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(CliError::write(folder))?;
    }
    let screen = Screen::new(args.json);
    let report = Box::pin(attack(&inputs, &settings, &screen)).await;
    screen.end();
    let report = report?;
    if let Some(folder) = &args.output {
        let json = serde_json::to_string_pretty(&report).map_err(|error| CliError::new(error.to_string()))?;
        replace::write(&folder.join("report.json"), json + "\n")?;
        replace::write(&folder.join("report.html"), report.html()?)?;
    }
    let written = args.output.map(|folder| format!("report  {}\n", folder.join("report.html").display()));
    OutputArgs { json: args.json }
        .print(&report, |report: &Report| report.text() + &written.unwrap_or_default())
}

fn inputs(args: &Args) -> Result<Inputs, CliError> {
    let onnx = read_model_file(&args.model)?.onnx;
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(&onnx, &limits)
        .map_err(|error| CliError::new(format!("{}: {error}", args.model.display())))?;
    let description = read_for(&args.task, Some(&model))??;
    let world = world(args)?;
    let trace = world.devices.trace.as_deref().map(|path| read_trace(Path::new(path))).transpose()?;
    let training = read_data(args, &args.data, &description)?;
    let held_out = args.held_out.as_deref().map(|path| read_data(args, path, &description)).transpose()?;
    Ok(Inputs {
        description,
        model,
        onnx: onnx.into(),
        training,
        held_out: held_out.map(|dataset| dataset.examples),
        world,
        trace,
        threads: args.threads(),
    })
}

fn world(args: &Args) -> Result<WorldSettings, CliError> {
    let mut world: WorldSettings = match &args.world {
        Some(path) => toml_file::parse(path, &std::fs::read_to_string(path).map_err(CliError::read(path))?)?,
        None => WorldSettings::default(),
    };
    world.clients = args.clients.unwrap_or(world.clients);
    world.seed = args.seed.unwrap_or(world.seed);
    world.validate().map_err(|error| CliError::new(error.to_string()))?;
    Ok(world)
}

fn read_data(args: &Args, path: &Path, task: &TaskDescription) -> Result<Dataset, CliError> {
    let options = ReadOptions {
        label_column: args.label_column.clone(),
        group_column: args.group_column.clone(),
        schema: read_schema(args.schema.as_deref())?,
        flat: args.flat,
        ..ReadOptions::default()
    };
    let read =
        options.or_schema(task.table_schema(), path).and_then(|options| folkmoot_data::read(path, &options));
    read.map_err(|error| CliError::new(error.to_string()))
}

impl From<CannotAttack> for CliError {
    fn from(error: CannotAttack) -> Self {
        Self::new(error.to_string())
    }
}
