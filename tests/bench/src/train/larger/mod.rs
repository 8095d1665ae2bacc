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

use model::LargerModel;
use row::LargerRow;
use run::{Report, Run};

use super::network::LEARNING_RATE;
use super::trainee::CHECKED_STEPS;
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
/// whose losses differ.
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
        let Some((interpreter, shape)) = write(model, folder.path(), interpreters)? else {
            eprintln!("no interpreter can write {}. Install it with `{INSTALLATION}`", model.name());
            continue;
        };
        for threads in THREADS {
            let rows = measure(&Run { model, threads, folder: folder.path(), interpreter, shape: &shape })?;
            rows.iter().try_for_each(|row| row.print(is_json))?;
            faults.extend(disagreement(&rows));
        }
    }
    Ok(faults)
}

/// Writes a model and its batch. Returns the interpreter that could, and the shape of an example.
fn write<'a>(
    model: LargerModel,
    folder: &Path,
    interpreters: &'a [String],
) -> Result<Option<(&'a str, Vec<usize>)>, Failure> {
    for interpreter in interpreters {
        let mut command = Command::new(interpreter);
        command.arg(SCRIPT).arg("write");
        let Ok(output) = add_arguments(&mut command, model.name(), folder).output() else { continue };
        if let Report { shape: Some(shape), .. } = Report::of(&output, interpreter)? {
            return Ok(Some((interpreter, shape)));
        }
    }
    Ok(None)
}

/// Adds the script's arguments.
pub fn add_arguments<'a>(command: &'a mut Command, model: &str, folder: &Path) -> &'a mut Command {
    command.args(["--model", model, "--folder"]).arg(folder);
    command.args(["--learning-rate", &LEARNING_RATE.to_string()]);
    command.args(["--checked-steps", &CHECKED_STEPS.to_string()])
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

fn disagreement([own, torch]: &[LargerRow; 2]) -> Option<String> {
    let is_near = (torch.loss - own.loss).abs() <= own.model.loss_tolerance() * own.loss.abs();
    (!is_near).then(|| {
        format!(
            "after {CHECKED_STEPS} steps torch's loss of {} is {}, ours {}",
            own.model.name(),
            torch.loss,
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
        assert!(disagreement(&[row(2.0), row(2.001)]).is_none());
        assert!(disagreement(&[row(2.0), row(2.1)]).is_some());
        assert!(disagreement(&[row(2.0), row(f64::NAN)]).is_some());
    }
}
