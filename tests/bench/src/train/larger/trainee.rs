//! Trains a model from a folder with our executor, in a separate process.

use std::fs;
use std::path::PathBuf;

use folkmoot_engine::{Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, Trainer, TrainingPlan};

use crate::train::network::{BATCH_SIZE, LEARNING_RATE};
use crate::train::timing;
use crate::{Failure, process};

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    folder: PathBuf,
    #[arg(long, value_delimiter = ',')]
    shape: Vec<usize>,
    #[arg(long)]
    threads: usize,
    #[arg(long)]
    checked_steps: usize,
}

/// Measures our executor and prints the report as JSON.
///
/// # Errors
/// Fails if a file is missing, or if the training fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut trainer = trainer(arguments)?;
    let rows: Vec<usize> = (0..BATCH_SIZE).collect();
    let mut loss = f64::NAN;
    for _ in 0..arguments.checked_steps {
        loss = trainer.step_on(&rows)?.loss;
    }
    let cpu_ms = timing::milliseconds(|| Ok(trainer.step_on(&rows).map(|_| ())?))?;
    let peak_memory_mib = process::peak_memory(std::process::id())? as f64 / f64::from(1 << 20);
    println!("{}", serde_json::json!({ "cpu_ms": cpu_ms, "loss": loss, "peak_memory_mib": peak_memory_mib }));
    Ok(())
}

fn trainer(arguments: &Arguments) -> Result<Trainer, Failure> {
    let model = Model::from_onnx(&fs::read(arguments.folder.join("model.onnx"))?, &ImportLimits::default())?;
    let features = numbers(arguments, "features.f32", f32::from_le_bytes)?;
    let labels = Labels::Classes(numbers(arguments, "labels.i32", u32::from_le_bytes)?);
    let examples = Examples::new(features, arguments.shape.clone(), labels)?;
    let plan = TrainingPlan {
        epochs: u32::MAX,
        batch_size: BATCH_SIZE as u32,
        ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(LEARNING_RATE))
    };
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, 0)?;
    trainer.set_threads(arguments.threads)?;
    Ok(trainer)
}

/// Reads a file of numbers of four bytes.
fn numbers<T>(arguments: &Arguments, name: &str, number: fn([u8; 4]) -> T) -> Result<Vec<T>, Failure> {
    let bytes = fs::read(arguments.folder.join(name))?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect())
}
