#![doc = include_str!("../README.md")]

mod kotlin;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    uniffi::uniffi_bindgen_main();
    let arguments: Vec<String> = env::args().collect();
    match kotlin::written_by(&arguments).map_or(Ok(()), |folder| kotlin::reuse_statuses(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("uniffi-bindgen: {problem}");
            ExitCode::FAILURE
        }
    }
}
