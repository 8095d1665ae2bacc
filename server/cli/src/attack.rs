//! `folkmoot attack`: tries attacks on a task before clients have it.

use std::path::Path;

use folkmoot_attack::{Args, CannotAttack, Inputs, Report, Screen, attack};
use folkmoot_data::{Dataset, ReadOptions};
use folkmoot_simulation::simulate::WorldSettings;

use super::{
    CliError,
    data::read_schema,
    output::OutputArgs,
    replace,
    simulate::{read_data, read_model, read_trace, read_world},
    task::check::read_for,
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
    let (onnx, model) = read_model(&args.model)?;
    let description = read_for(&args.task, Some(&model))??;
    let world = world(args)?;
    let trace = world.devices.trace.as_deref().map(|path| read_trace(Path::new(path))).transpose()?;
    let read = |path: &Path| -> Result<Dataset, CliError> {
        let options = ReadOptions {
            label_column: args.label_column.clone(),
            group_column: args.group_column.clone(),
            schema: read_schema(args.schema.as_deref())?,
            ..ReadOptions::default()
        };
        read_data(options, path, description.data_schema())
    };
    let training = read(&args.data)?;
    let held_out = args.held_out.as_deref().map(read).transpose()?;
    Ok(Inputs {
        training,
        held_out: held_out.map(|dataset| dataset.examples),
        description,
        model,
        onnx: onnx.into(),
        world,
        trace,
        threads: args.threads(),
    })
}

fn world(args: &Args) -> Result<WorldSettings, CliError> {
    let mut world = read_world(args.world.as_deref())?;
    world.clients = args.clients.unwrap_or(world.clients);
    world.seed = args.seed.unwrap_or(world.seed);
    world.validate().map_err(|error| CliError::new(error.to_string()))?;
    Ok(world)
}

impl From<CannotAttack> for CliError {
    fn from(error: CannotAttack) -> Self {
        Self::new(error.to_string())
    }
}
