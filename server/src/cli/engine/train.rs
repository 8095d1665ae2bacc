use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use folkmoot_engine::{Examples, Labels, Model, Trainer, evaluate};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{CliError, curve::loss_svg, failed, plan::PlanArgs, read_model};
use crate::cli::{
    examples_file::ExamplesArgs,
    output::{OutputArgs, or_dash},
};

const BAR: &str = "{bar:30.cyan/dim}  {pos}/{len} steps  loss {msg}  {elapsed}";
/// Points of the loss curve, at most: more would not be seen.
const CURVE_POINTS_MAX: u64 = 400;

/// What to train, on what, and what to leave behind.
#[derive(clap::Args)]
pub struct Args {
    /// The ONNX file.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    #[command(flatten)]
    examples: ExamplesArgs,
    #[command(flatten)]
    plan: PlanArgs,
    /// One example of so many is not trained on, but measured at the end; 0 trains on all.
    #[arg(long, default_value_t = 5)]
    hold_out_one_of: usize,
    /// Seed of the order of the examples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads of a step; the result depends on their number.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Where to write the trained model.
    #[arg(long, value_name = "FILE.onnx")]
    out: Option<PathBuf>,
    /// Where to draw the loss over the steps.
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What a training came to.
#[derive(Serialize)]
struct Trained {
    examples: usize,
    held_out: usize,
    steps: u64,
    first_loss: f64,
    last_loss: f64,
    held_out_loss: Option<f64>,
    /// Only where labels are class numbers.
    held_out_accuracy: Option<f64>,
    memory_bytes: usize,
}

/// Trains a model on local data, with a progress bar.
///
/// # Errors
/// If a file cannot be read or written, or the model, the plan and the data do not go together.
pub fn run(args: &Args) -> Result<(), CliError> {
    let (_, model) = read_model(&args.model)?;
    let plan = args.plan.read(&model)?;
    let (training, held_out) = split(&args.examples.read()?, args.hold_out_one_of)?;
    let loss = plan.loss;
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &training, args.seed)
        .map_err(failed(&args.model))?;
    trainer.set_threads(usize::from(args.threads)).map_err(failed(&args.model))?;
    let curve = train(&mut trainer, args.output.json).map_err(failed(&args.model))?;
    let (memory_bytes, outcome) = (trainer.memory_bytes(), trainer.finish());
    if let Some(path) = &args.out {
        write_model(path, &model, &outcome.weights)?;
    }
    if let Some(path) = &args.curve {
        let svg = loss_svg(&curve).map_err(|error| CliError::new(format!("the curve: {error}")))?;
        std::fs::write(path, svg).map_err(CliError::write(path))?;
    }
    let metrics = evaluate(&model, &outcome.weights, &held_out, loss).map_err(failed(&args.model))?;
    let has_classes = matches!(training.labels(), Labels::Classes(_));
    let trained = Trained {
        examples: training.len(),
        held_out: held_out.len(),
        steps: outcome.metrics.step_count,
        first_loss: curve.first().map_or(f64::NAN, |point| point.1),
        last_loss: curve.last().map_or(f64::NAN, |point| point.1),
        held_out_loss: metrics.mean_loss(),
        held_out_accuracy: metrics.accuracy().filter(|_| has_classes),
        memory_bytes,
    };
    args.output.print(&trained, text)
}

/// Takes all steps and returns points of the loss curve: (step, mean loss since the point before).
fn train(trainer: &mut Trainer, is_json: bool) -> Result<Vec<(u64, f64)>, folkmoot_engine::TrainError> {
    let total = trainer.progress().steps_total;
    let bar = match is_json || !std::io::stderr().is_terminal() {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(total),
    };
    let style = ProgressStyle::with_template(BAR).expect("the template is a constant that a test draws");
    bar.set_style(style.progress_chars("━━╌"));
    let every = total.div_ceil(CURVE_POINTS_MAX).max(1);
    let (mut curve, mut sum) = (Vec::new(), 0.0);
    loop {
        let progress = trainer.step()?;
        sum += progress.loss;
        if progress.step % every == 0 || progress.finished {
            let since = progress.step - curve.last().map_or(0, |point: &(u64, f64)| point.0);
            curve.push((progress.step, sum / since as f64));
            sum = 0.0;
        }
        bar.set_position(progress.step);
        bar.set_message(format!("{:.4}", progress.loss));
        if progress.finished {
            bar.finish_and_clear();
            return Ok(curve);
        }
    }
}

/// Every so manieth example is held out.
fn split(all: &Examples, one_of: usize) -> Result<(Examples, Examples), CliError> {
    let is_held_out = |index: &usize| one_of > 0 && index % one_of == one_of - 1;
    let (held_out, training): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_held_out);
    let subset = |indices: &[usize]| all.subset(indices).map_err(|error| CliError::new(error.to_string()));
    Ok((subset(&training)?, subset(&held_out)?))
}

fn write_model(path: &Path, model: &Model, weights: &[f32]) -> Result<(), CliError> {
    let onnx = model.export_onnx(weights).map_err(failed(path))?;
    std::fs::write(path, onnx).map_err(CliError::write(path))
}

fn text(trained: &Trained) -> String {
    let accuracy = trained.held_out_accuracy.map(|accuracy| format!("{:.2} %", 100.0 * accuracy));
    format!(
        "steps              {} over {} examples\n\
         loss               {:.4}, then {:.4}\n\
         held-out loss      {} over {} examples\n\
         held-out accuracy  {}\n\
         memory             {:.1} MB",
        trained.steps,
        trained.examples,
        trained.first_loss,
        trained.last_loss,
        or_dash(trained.held_out_loss.map(|loss| format!("{loss:.4}"))),
        trained.held_out,
        or_dash(accuracy),
        trained.memory_bytes as f64 / 1e6
    )
}
