//! Parses any text as a task file. Every error must have a position in the text. A valid task must survive a round trip
//! through JSON.

#![no_main]

use std::path::Path;

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_fuzz::{prepare, seeds};
use folkmoot_task_file as task_file;
use libfuzzer_sys::fuzz_target;

fn seeds() -> Vec<Vec<u8>> {
    seeds::files("examples", "task.toml").into_iter().map(|(_, text)| text).collect()
}

fuzz_target!(init: prepare(seeds), |text: &str| {
    match task_file::read(Path::new("task.toml"), text) {
        Ok(description) => {
            let json = serde_json::to_string(&description).expect("a description is JSON");
            let again: TaskDescription = serde_json::from_str(&json).expect("it was written as JSON");
            assert_eq!(serde_json::to_string(&again).expect("a description is JSON"), json);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
