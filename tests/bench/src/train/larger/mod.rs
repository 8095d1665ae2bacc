//! The larger models of `bench train --with-peers`, beside PyTorch, on one and on two threads.
//!
//! `peers/train_torch.py` writes each model with random weights into a temporary folder. Both executors train it from
//! the same weights on the same batch, in turns, so that other programs disturb both alike.

pub mod model;
mod row;
mod run;
pub mod trainee;

use std::path::Path;
use std::process::Command;

use model::{LOSS_TOLERANCE, LargerModel};
use row::LargerRow;
use run::{Report, Run};

use super::network::LEARNING_RATE;
use crate::Failure;
use crate::folder::TemporaryFolder;

/// The script that writes the models, and measures PyTorch.
pub const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/train_torch.py");
/// The command that installs the modules of the script.
pub const INSTALLATION: &str = "pip install torch torchvision onnx";

/// The number of times that each executor has its turn. The fastest counts.
const TURNS: usize = 2;
const THREADS: [usize; 2] = [1, 2];

/// Measures the models with the first interpreter that has PyTorch, and prints a table. Returns a message for each model
/// whose loss is not PyTorch's in float64.
///
/// # Errors
/// Fails if an executor fails.
pub fn run(models: &[LargerModel], interpreters: &[String], is_json: bool) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    if !is_json {
        row::print_heading();
    }
    for &model in models {
        let folder = TemporaryFolder::new(model.name())?;
        let Some(Written { interpreter, shape, exact_loss }) = write(model, folder.path(), interpreters)?
        else {
            eprintln!("no interpreter can write {}. Install it with `{INSTALLATION}`", model.name());
            continue;
        };
        for threads in THREADS {
            let rows = measure(&Run { model, threads, folder: folder.path(), interpreter, shape: &shape })?;
            rows.iter().try_for_each(|row| row.print(is_json))?;
            faults.extend(disagreement(&rows[0], exact_loss));
        }
    }
    Ok(faults)
}

/// A model that is in its folder.
struct Written<'a> {
    /// The interpreter that could write it.
    interpreter: &'a str,
    /// The shape of an example.
    shape: Vec<usize>,
    /// The loss of the last checked step, in float64.
    exact_loss: f64,
}

/// Writes a model and its batch with the first interpreter that can.
fn write<'a>(
    model: LargerModel,
    folder: &Path,
    interpreters: &'a [String],
) -> Result<Option<Written<'a>>, Failure> {
    for interpreter in interpreters {
        let mut command = Command::new(interpreter);
        command.arg(SCRIPT).arg("write");
        add_arguments(&mut command, model.name(), folder, model.checked_steps());
        let Ok(output) = command.output() else { continue };
        if let Report { shape: Some(shape), loss: Some(exact_loss), .. } = Report::of(&output, interpreter)? {
            return Ok(Some(Written { interpreter, shape, exact_loss }));
        }
    }
    Ok(None)
}

/// Adds the script's arguments.
pub fn add_arguments<'a>(
    command: &'a mut Command,
    model: &str,
    folder: &Path,
    checked_steps: usize,
) -> &'a mut Command {
    command.args(["--model", model, "--folder"]).arg(folder);
    command.args(["--learning-rate", &LEARNING_RATE.to_string()]);
    command.args(["--checked-steps", &checked_steps.to_string()])
}

/// Measures both executors in turns. Returns the fastest row of each, ours first.
fn measure(run: &Run<'_>) -> Result<[LargerRow; 2], Failure> {
    let mut fastest = [run.folkmoot()?, run.torch()?];
    for _ in 1..TURNS {
        for (fastest, next) in fastest.iter_mut().zip([run.folkmoot()?, run.torch()?]) {
            if next.cpu_ms < fastest.cpu_ms {
                *fastest = next;
            }
        }
    }
    Ok(fastest)
}

fn disagreement(own: &LargerRow, exact_loss: f64) -> Option<String> {
    let is_near = (exact_loss - own.loss).abs() <= LOSS_TOLERANCE * exact_loss.abs();
    (!is_near).then(|| {
        format!(
            "after {} steps the loss of {} in float64 is {exact_loss}, ours {}",
            own.model.checked_steps(),
            own.model.name(),
            own.loss
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_loss_is_a_fault() {
        let row = |loss| LargerRow {
            model: LargerModel::Transformer,
            executor: "folkmoot".to_owned(),
            threads: 1,
            cpu_ms: 1.0,
            peak_memory_mib: 1.0,
            loss,
            version: None,
        };
        assert!(disagreement(&row(2.001), 2.0).is_none());
        assert!(disagreement(&row(2.1), 2.0).is_some());
        assert!(disagreement(&row(f64::NAN), 2.0).is_some());
    }
}
