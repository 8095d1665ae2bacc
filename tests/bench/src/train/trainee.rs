//! Trains one model with one executor in a separate process, so that memory and threads can be measured separately.

use std::process::Command;

use super::{candle::Candle, executor::Executor, folkmoot::Folkmoot, network::Network, row::Row, timing};
use crate::{Failure, process};

/// The number of steps after which losses are compared. Every executor performs them on the same batch from the same
/// weights.
pub const CHECKED_STEPS: usize = 20;

/// The executors that are written in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExecutorName {
    /// Ours
    Folkmoot,
    /// candle-core's autograd
    Candle,
}

impl ExecutorName {
    fn name(self) -> &'static str {
        match self {
            Self::Folkmoot => "folkmoot",
            Self::Candle => "candle",
        }
    }

    fn start(self, network: Network) -> Result<Box<dyn Executor>, Failure> {
        Ok(match self {
            Self::Folkmoot => Box::new(Folkmoot::new(network)?),
            Self::Candle => Box::new(Candle::new(network)?),
        })
    }
}

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    model: Network,
    #[arg(long)]
    executor: ExecutorName,
}

/// Measures the executor and prints the row as JSON.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut executor = arguments.executor.start(arguments.model)?;
    let mut loss = f64::NAN;
    for _ in 0..CHECKED_STEPS {
        loss = executor.step_on_first_batch()?;
    }
    let cpu_ms = timing::milliseconds(|| executor.step().map(|_| ()))?;
    let peak = process::peak_memory(std::process::id()).ok();
    let row = Row {
        loss: Some(loss),
        peak_memory_mib: peak.map(|bytes| bytes as f64 / f64::from(1 << 20)),
        ..Row::of_step(arguments.model, arguments.executor.name(), cpu_ms)
    };
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// Runs the measurement in a separate process in which frameworks are limited to one thread, and returns its row.
pub fn measure(model: Network, executor: ExecutorName) -> Result<Row, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["trainee", "--model", model.name(), "--executor", executor.name()]);
    let output = command.env("RAYON_NUM_THREADS", "1").stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} could not train {}", executor.name(), model.name()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
