//! Measures our executor, on the adapter or on one thread of the CPU.

use std::time::Duration;

use folkmoot_engine::{Gpu, LocalOptimizer, Loss, Trainer, TrainingPlan};

use super::{Arguments, model::BenchModel};
use crate::{Failure, clock, train::network::LEARNING_RATE};

/// The shortest duration of a measurement.
pub const MEASURED: Duration = Duration::from_millis(300);

/// The measured duration of a step.
pub struct Measured {
    /// Wall-clock milliseconds per step, in the fastest measurement.
    pub step_ms: f64,
    /// Milliseconds before the measurement, spent on compiling and on the first step.
    pub start_ms: f64,
    /// The version of the executor, and the name of the device.
    pub version: String,
}

/// Measures steps. Each step gathers its batch from examples on the device.
///
/// # Errors
/// Returns the error of the engine.
pub fn measure(
    model: BenchModel,
    batch: usize,
    gpu: Option<&Gpu>,
    arguments: &Arguments,
) -> Result<Measured, Failure> {
    let mut trainer = trainer(model, batch)?;
    let started = clock::start();
    if let Some(gpu) = gpu {
        trainer.use_gpu(gpu)?;
    }
    trainer.advance(1)?;
    let start_ms = started.elapsed().as_secs_f64() * 1e3;
    // On the CPU, fewer steps are enough.
    let steps = if gpu.is_some() { u64::from(arguments.steps) } else { 5 };
    let submissions = warm_up(&mut trainer, steps)?;
    let mut failure = None;
    let fastest = clock::fastest(arguments.repetitions as usize, || {
        for _ in 0..submissions {
            failure = trainer.advance(steps).err().map(Into::into).or(failure.take());
        }
    });
    if let Some(fault) = trainer.gpu_fault() {
        return Err(fault.to_string().into());
    }
    let step_ms = fastest.as_secs_f64() * 1e3 / (submissions * steps) as f64;
    failure.map_or_else(|| Ok(Measured { step_ms, start_ms, version: String::new() }), Err)
}

/// Trains for about as long as a measurement, because an idle card has a slow clock. Returns the number of submissions
/// that a measurement needs.
///
/// # Errors
/// Returns the error of the engine.
pub fn warm_up(trainer: &mut Trainer, steps: u64) -> Result<u64, Failure> {
    let started = clock::start();
    let mut submissions = 0;
    while submissions == 0 || started.elapsed() < MEASURED {
        trainer.advance(steps)?;
        submissions += 1;
    }
    Ok(submissions)
}

/// Creates a training that does not end by itself.
///
/// # Errors
/// Returns the error of the engine.
pub fn trainer(model: BenchModel, batch: usize) -> Result<Trainer, Failure> {
    let plan = TrainingPlan {
        epochs: u32::MAX,
        batch_size: batch as u32,
        ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(LEARNING_RATE))
    };
    let (model, examples) = (model.model()?, model.examples(batch)?);
    Ok(Trainer::new(&model, &model.initial_weights(), plan, &examples, 0)?)
}
