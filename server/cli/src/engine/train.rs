use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use folkmoot_client::{Device, Devices, Host, Placement};
use folkmoot_engine::{
    Examples, Gpu, Labels, Model, TrainError, Trainer, TrainingPlan, evaluate, onnx::write_data_schema,
};
use folkmoot_protocol::{BlobDigest, DataSchema, Loss};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{
    CliError,
    curve::{Curve, loss_svg},
    failed,
    plan::PlanArgs,
    profile::{self, Profile},
    read_model,
};
use crate::{
    data::schema_of_model,
    examples_file::ExamplesArgs,
    output::{OutputArgs, or_dash},
    replace,
};

const BAR: &str = "{bar:30.cyan/dim}  {pos}/{len} steps  loss {msg}  {elapsed}";
/// The largest number of points in the loss curve; more would not be visible.
const CURVE_POINTS_MAX: u64 = 400;
/// The smallest number of steps to submit to an adapter at a time. Single steps would wait for each other.
const GPU_STEPS_MIN: u64 = 16;

/// The flags of `folkmoot engine train`.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file of the model.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    #[command(flatten)]
    examples: ExamplesArgs,
    #[command(flatten)]
    plan: PlanArgs,
    /// Hold out one of this many examples, and evaluate on them at the end; 0 trains on all examples.
    #[arg(long, default_value_t = 5)]
    hold_out_one_of: usize,
    /// The seed for the order of the examples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of threads for a step. The trained weights depend on this number.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// The device to train on: `auto` (the fastest for this plan), `cpu`, `gpu`, or part of an adapter's name.
    #[arg(long, default_value = "auto", value_name = "auto|cpu|gpu|NAME")]
    device: Device,
    /// Also measure the time of each kind of kernel in a step.
    #[arg(long)]
    profile: bool,
    /// Write the trained model to this file.
    #[arg(long, value_name = "FILE.onnx")]
    out: Option<PathBuf>,
    /// Write a chart of the loss over the steps to this file.
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// Returns the schema of the examples, from `--schema` or else from the model.
    fn schema(&self, onnx: &[u8]) -> Result<Option<DataSchema>, CliError> {
        match self.examples.options()?.schema {
            Some(schema) => Ok(Some(schema)),
            None => schema_of_model(&self.model, onnx),
        }
    }
}

/// The result of a training.
#[derive(Serialize)]
struct Trained {
    /// The device of the last step: `cpu`, or the adapter's name.
    device: String,
    energy_class: &'static str,
    /// The fault of the adapter that made the training fall back to the CPU, if any.
    device_fault: Option<String>,
    examples: usize,
    held_out: usize,
    steps: u64,
    first_loss: f64,
    last_loss: f64,
    held_out_loss: Option<f64>,
    /// The accuracy on the held-out examples, 0 to 1; `None` if labels are not class numbers.
    held_out_accuracy: Option<f64>,
    memory_bytes: usize,
    /// The number of bytes of the adapter's memory that the training used.
    gpu_memory_bytes: u64,
    profile: Option<Profile>,
}

/// Trains a model on local data, with a progress bar.
///
/// # Errors
/// If a file cannot be read or written, or if the model, the plan and the data do not fit each other.
pub fn run(args: &Args) -> Result<(), CliError> {
    let (file, model) = read_model(&args.model)?;
    let plan = args.plan.read(&model)?;
    let model = model.for_plan(&plan).map_err(failed(&args.model))?;
    let schema = args.schema(&file.onnx)?;
    if schema.as_ref().is_some_and(|schema| !schema.has_labels()) && plan.loss != Loss::ModelOutput {
        let message = format!(
            "the schema has no label, but the loss {} compares outputs with labels",
            plan.loss.name()
        );
        return Err(CliError::with_remedy(
            message,
            "add a label to the schema, or choose the loss model_output",
        ));
    }
    let (training, held_out) = split(&args.examples.read(schema.as_ref())?, args.hold_out_one_of)?;
    let mut trainer = new_trainer(args, &model, plan.clone(), &training)?;
    let host = Host::system().map_err(|error| CliError::new(error.to_string()))?;
    let devices = Devices::new(args.device.clone(), host.clone());
    let placed = devices.place(&mut trainer, &plan, BlobDigest::of(&file.onnx));
    let mut placement = placed.map_err(|error| CliError::new(error.to_string()))?;
    let gpu = trainer.gpu().cloned();
    check_profile(args, gpu.as_ref())?;
    let curve = train(&mut trainer, args.output.json).map_err(failed(&args.model))?;
    let device_fault = trainer.gpu_fault().map(ToString::to_string);
    placement = devices.came_back(&placement, &trainer).unwrap_or(placement);
    let (memory_bytes, gpu_memory_bytes) = (trainer.memory_bytes(), trainer.gpu_memory_bytes());
    let outcome = trainer.finish();
    if let Some(path) = &args.out {
        write_model(path, &model, &outcome.weights, schema.as_ref())?;
    }
    if let Some(path) = &args.curve {
        let svg = loss_svg(&curve)
            .map_err(|error| CliError::new(format!("the loss curve cannot be drawn: {error}")))?;
        replace::write(path, svg)?;
    }
    let metrics = evaluate(&model, &outcome.weights, &held_out, plan.loss).map_err(failed(&args.model))?;
    let has_classes = matches!(training.labels(), Labels::Classes(_));
    let Placement { device, energy_class, .. } = placement;
    let trained = Trained {
        device,
        energy_class,
        profile: match args.profile {
            true => {
                Some(profile(args, &model, plan, &training, gpu.filter(|_| device_fault.is_none()), &host)?)
            }
            false => None,
        },
        device_fault,
        examples: training.len(),
        held_out: held_out.len(),
        steps: outcome.metrics.step_count,
        first_loss: curve.first().map_or(f64::NAN, |point| point.1),
        last_loss: curve.last().map_or(f64::NAN, |point| point.1),
        held_out_loss: metrics.mean_loss(),
        held_out_accuracy: metrics.accuracy().filter(|_| has_classes),
        memory_bytes,
        gpu_memory_bytes,
    };
    args.output.print(&trained, text)
}

fn new_trainer(
    args: &Args,
    model: &Model,
    plan: TrainingPlan,
    examples: &Examples,
) -> Result<Trainer, CliError> {
    let is_private = plan.example_privacy.is_some();
    let mut trainer = Trainer::new(model, &model.initial_weights(), plan, examples, args.seed)
        .map_err(failed(&args.model))?;
    trainer.set_threads(usize::from(args.threads)).map_err(failed(&args.model))?;
    if is_private {
        let chance = folkmoot_client::SystemChance::new();
        trainer.set_secret_chance(Box::new(chance.map_err(failed(&args.model))?));
    }
    Ok(trainer)
}

/// Rejects `--profile` on an adapter without timestamps before the training starts.
fn check_profile(args: &Args, gpu: Option<&Gpu>) -> Result<(), CliError> {
    match gpu.map(Gpu::report).filter(|report| args.profile && !report.timestamps) {
        Some(report) => Err(CliError::with_remedy(
            format!("{} cannot time its kernels", report.name),
            "remove --profile, or choose another --device",
        )),
        None => Ok(()),
    }
}

/// Profiles the first steps of the same training on the same device.
fn profile(
    args: &Args,
    model: &Model,
    plan: TrainingPlan,
    examples: &Examples,
    gpu: Option<Gpu>,
    host: &Host,
) -> Result<Profile, CliError> {
    let endless = TrainingPlan { epochs: u32::MAX, steps_max: None, ..plan };
    let mut trainer = new_trainer(args, model, endless, examples)?;
    if let Some(gpu) = gpu {
        trainer.use_gpu(&gpu).map_err(failed(&args.model))?;
    }
    profile::measure(&mut trainer, host).map_err(failed(&args.model))
}

/// Runs all steps and returns the points of the loss curve as (step, mean loss since the previous point).
fn train(trainer: &mut Trainer, is_json: bool) -> Result<Vec<(u64, f64)>, TrainError> {
    let total = trainer.progress().steps_total;
    let bar = match is_json || !std::io::stderr().is_terminal() {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(total),
    };
    let style = ProgressStyle::with_template(BAR).expect("the template is a constant that a test draws");
    bar.set_style(style.progress_chars("━━╌"));
    let steps_min = if trainer.gpu().is_some() { GPU_STEPS_MIN } else { 1 };
    let every = total.div_ceil(CURVE_POINTS_MAX).max(steps_min);
    let mut curve = Curve::default();
    while !trainer.progress().finished {
        let progress = trainer.advance(every)?;
        curve.add(trainer.metrics());
        bar.set_position(progress.step);
        bar.set_message(format!("{:.4}", progress.loss));
    }
    bar.finish_and_clear();
    Ok(curve.points())
}

/// Splits the examples into training and held-out ones. Every `one_of`-th example is held out; none if `one_of` is 0.
fn split(all: &Examples, one_of: usize) -> Result<(Examples, Examples), CliError> {
    let is_held_out = |index: &usize| one_of > 0 && index % one_of == one_of - 1;
    let (held_out, training): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_held_out);
    let subset = |indices: &[usize]| all.subset(indices).map_err(|error| CliError::new(error.to_string()));
    Ok((subset(&training)?, subset(&held_out)?))
}

/// Writes the trained model. Its metadata has the schema by which its examples were encoded.
fn write_model(
    path: &Path,
    model: &Model,
    weights: &[f32],
    schema: Option<&DataSchema>,
) -> Result<(), CliError> {
    let onnx = model.export_onnx(weights).map_err(failed(path))?;
    let onnx = match schema {
        Some(schema) => write_data_schema(&onnx, schema).map_err(failed(path))?,
        None => onnx,
    };
    replace::write(path, onnx)
}

fn text(trained: &Trained) -> String {
    let accuracy = trained.held_out_accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy));
    let fault = trained.device_fault.as_ref().map(|fault| format!("; fell back to it: {fault}"));
    let profile = trained.profile.as_ref().map(|profile| format!("\n\n{}", profile.text()));
    format!(
        "steps              {} over {} examples\n\
         loss               {:.4}, then {:.4}\n\
         held-out loss      {} over {} examples\n\
         held-out accuracy  {}\n\
         device             {}, energy class {}{}\n\
         memory             {:.1} MB, {:.1} MB of the adapter's{}",
        trained.steps,
        trained.examples,
        trained.first_loss,
        trained.last_loss,
        or_dash(trained.held_out_loss.map(|loss| format!("{loss:.4}"))),
        trained.held_out,
        or_dash(accuracy),
        trained.device,
        trained.energy_class,
        fault.unwrap_or_default(),
        trained.memory_bytes as f64 / 1e6,
        trained.gpu_memory_bytes as f64 / 1e6,
        profile.unwrap_or_default()
    )
}
