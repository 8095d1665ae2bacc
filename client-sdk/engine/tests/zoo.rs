//! Tests that models from other projects train as they do in their own framework.
//!
//! `tests/engine/zoo` has the models, as several exporters write them, and the training runs of the frameworks. Its table
//! says what happens with each file; a file that now does something else fails this test. `FOLKMOOT_BLESS=1` rewrites the
//! table and `docs/zoo.md`.

mod movement;
mod page;
mod table;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use folkmoot_engine::{ImportLimits, Model, TrainingPlan};

use crate::trajectories::{Trajectory, repository};
use table::{Exports, Outcome, Table};

/// The largest difference of a loss, or of a tensor's movement, relative to it.
const TOLERANCE: f64 = 1e-3;
/// A smaller part of the largest loss, or of the farthest movement, is compared as if it were this part.
const SMALLEST_PART: f64 = 0.01;

fn folder() -> PathBuf {
    repository().join("tests/engine/zoo")
}

fn page_path() -> PathBuf {
    repository().join("docs/zoo.md")
}

/// Trains the file of an exporter as its framework did, and compares.
fn outcome(name: &str, exporter: &str, trajectory: &Trajectory, output: Option<&String>) -> Outcome {
    let path = folder().join(format!("files/{name}.{exporter}.onnx"));
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let model = match Model::from_onnx(&bytes, &ImportLimits::default()) {
        Ok(model) => model,
        Err(error) => return Outcome::refused(&error.to_string()),
    };
    let plan = TrainingPlan { output: output.cloned(), ..trajectory.plan.clone() };
    let model = match model.for_plan(&plan) {
        Ok(model) => model,
        Err(error) => return Outcome::refused(&error.to_string()),
    };
    let mut trainer = match trajectory.trainer(&model) {
        Ok(trainer) => trainer,
        Err(error) => return Outcome::refused(&error.to_string()),
    };
    let start = model.initial_weights();
    match trajectory.follow_losses(&mut trainer, SMALLEST_PART * trajectory.largest_loss()) {
        Ok(loss) => {
            let moved = movement::difference(&trajectory.weights, &model, &start, trainer.weights());
            let said: BTreeSet<&str> = model.remarks().iter().map(|remark| remark.kind()).collect();
            println!(
                "{name}, {exporter}: losses {loss:.1e}, movement {:.1e} of {}",
                moved.size, moved.tensors
            );
            Outcome::of_difference(loss.max(moved.size), &said)
        }
        Err(error) => Outcome::refused(&error.to_string()),
    }
}

/// Runs every file.
fn found(exports: &Exports) -> Table {
    let mut table = Table::new();
    for (name, model) in exports {
        let path = folder().join(format!("runs/{name}.json"));
        let json = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let run: Trajectory = serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(run.model, *name);
        let outcomes = model.exporters.iter().map(|(exporter, failure)| {
            let outcome = match failure {
                Some(failure) => Outcome::NotExported(failure.clone()),
                None => outcome(name, exporter, &run, model.outputs.get(exporter)),
            };
            (exporter.clone(), outcome)
        });
        table.insert(name.clone(), outcomes.collect());
    }
    table
}

#[test]
fn other_peoples_models_train_as_their_framework_trains_them() {
    let exports = table::exports();
    assert!(exports.len() >= 40, "{} models are not all", exports.len());
    let found = found(&exports);
    if env::var_os("FOLKMOOT_BLESS").is_some_and(|value| value == "1") {
        fs::write(table::path(), table::written(&found)).expect("the table can be written");
        fs::write(page_path(), page::render(&exports, &found)).expect("docs/zoo.md can be written");
        return;
    }
    let expected = table::committed();
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    let mut faults = Vec::new();
    for (name, outcomes) in &found {
        for (exporter, outcome) in outcomes {
            match expected[name].get(exporter) {
                Some(expected) if outcome.agrees_with(expected) => {}
                expected => faults.push(format!("{name}, {exporter}: {outcome:?} instead of {expected:?}")),
            }
        }
    }
    assert!(faults.is_empty(), "{} files behave differently:\n{}", faults.len(), faults.join("\n"));
    let page = fs::read_to_string(page_path()).unwrap_or_default();
    assert_eq!(
        page::render(&exports, &expected),
        page,
        "docs/zoo.md does not match the table; see FOLKMOOT_BLESS"
    );
}
