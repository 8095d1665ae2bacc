//! Measures the wall-clock time of a step. The device stays busy between steps.

use burn::tensor::Device;
use serde_json::json;

use crate::{backend::{Backend, adapter, runtime}, Failure, VERSION, clock, models, training::Train};

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Examples in a step
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// Steps of a repetition; the program waits for the device at its end
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Measured repetitions
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Repetitions before the measurement, in which burn compiles and tunes its kernels
    #[arg(long, default_value_t = 2)]
    warm_up: u32,
}

/// Measures the wall-clock time and prints one JSON object.
///
/// # Errors
/// Fails if the backend is missing, or if the examples do not fit the model.
pub fn run(backend: Backend, arguments: &crate::Arguments) -> Result<(), Failure> {
    let Arguments { batch, steps, repetitions, warm_up } = arguments.wall;
    let device = backend.device()?;
    let folder = arguments.folder.as_deref();
    let mut prepared = models::prepare(arguments.model, folder, Some(batch), &device)?;
    let mut repetition = Repetition {
        training: prepared.training.as_mut(),
        learning_rate: arguments.learning_rate,
        device: &device,
    };

    let started = clock::start();
    let (_, first_loss) = repetition.run(1)?;
    for _ in 0..warm_up {
        repetition.run(steps)?;
    }
    let warm_up_ms = started.elapsed().as_secs_f64() * 1e3;

    let (mut measured, mut last_loss) = (Vec::new(), first_loss);
    for _ in 0..repetitions {
        let (of_a_step, loss) = repetition.run(steps)?;
        measured.push(of_a_step);
        last_loss = loss;
    }
    let mut sorted = measured.clone();
    sorted.sort_by(f64::total_cmp);
    let report = json!({
        "backend": backend.name(),
        "runtime": runtime(&device),
        "adapter": adapter(&device),
        "version": VERSION,
        "batch": batch,
        "steps": steps,
        "parameters": prepared.parameters,
        "wall_ms": { "min": sorted[0], "median": sorted[sorted.len() / 2], "repetitions": measured },
        "warm_up_ms": warm_up_ms,
        "losses_first_last": [first_loss, last_loss],
        "steps_in_all": 1 + (warm_up + repetitions) * steps,
    });
    println!("{report}");
    Ok(())
}

/// A sequence of steps.
struct Repetition<'a> {
    training: &'a mut dyn Train,
    learning_rate: f32,
    device: &'a Device,
}

impl Repetition<'_> {
    /// Returns the milliseconds per step, and the loss of the last step.
    ///
    /// Reads only the last loss, which also waits until the device has finished the last update.
    fn run(&mut self, steps: u32) -> Result<(f64, f32), Failure> {
        let started = clock::start();
        let mut loss = self.training.step(self.learning_rate);
        for _ in 1..steps {
            loss = self.training.step(self.learning_rate);
        }
        let loss = loss.try_into_scalar::<f32>()?;
        self.device.sync()?;
        Ok((started.elapsed().as_secs_f64() * 1e3 / f64::from(steps), loss))
    }
}
