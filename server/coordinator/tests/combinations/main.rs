//! Combinations of choices in a task: which are refused, and which fields the faults name.

use folkmoot_coordinator::task::TaskDescription;

mod component;
mod guided;
#[path = "../../src/task/samples.rs"]
mod samples;
