//! Reads whole files into descriptions or faults.

mod explanations;
mod faults;
mod guided;
mod local_rules;
mod many;
mod properties;
mod ranges;
mod reference;
mod templates;
mod variants;

use std::path::Path;

use folkmoot_coordinator::task::TaskDescription;

use super::{PlacedFault, read};

/// A complete task. Tests rely on its line numbers.
const TASK: &str = r#"name = "digits"
population = "digits"

[plan]
loss = "softmax_cross_entropy"
optimizer = { sgd = { learning_rate = 0.1 } }
epochs = 1
batch_size = 16

[scheduling]
kind = "synchronous"
report_goal = 8

[stop]
rounds = 30
"#;

fn described(text: &str) -> TaskDescription {
    read(Path::new("task.toml"), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn faults(text: &str) -> Vec<PlacedFault> {
    read(Path::new("task.toml"), text).map(|_| Vec::new()).unwrap_or_else(|error| error.faults)
}

/// Replaces `from` by `to` in the task and returns its only fault.
fn fault(from: &str, to: &str) -> PlacedFault {
    assert!(TASK.contains(from), "{from}");
    let faults = faults(&TASK.replacen(from, to, 1));
    let [fault] = faults.as_slice() else { panic!("{to}: {faults:#?}") };
    fault.clone()
}
