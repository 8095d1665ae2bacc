//! `cargo xtask repeat`: repeats tests while other threads keep the processor busy, to find flaky tests.

use crate::process::run_reading;
use crate::stages::browser;
use crate::suite::harness::{Settings, programs, run as run_programs};
use crate::vulkan;
use crate::workspace::Failure;
use clap::Args;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The tests to repeat, and the number of repetitions.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Parts of test names; by default, all tests of the programs run
    names: Vec<String>,
    /// Run only test programs whose name contains this text, such as `e2e`
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Run browser tests instead: a file in `tests/browser`, such as `limits.test.mjs`
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    file: Option<String>,
    /// Number of repetitions
    #[arg(long, default_value_t = 200)]
    times: u32,
    /// Number of threads that keep the processor busy
    #[arg(long, default_value_t = 2)]
    busy: u32,
}

/// Repeats the tests until one fails.
///
/// # Errors
/// Returns the failure and the number of the repetition in which it occurred.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let repetition = repetition(arguments)?;
    let is_over = AtomicBool::new(false);
    let spin = || {
        let mut turns = 0_u64;
        while !is_over.load(Ordering::Relaxed) {
            turns = black_box(turns.wrapping_add(1));
        }
    };
    thread::scope(|scope| {
        (0..arguments.busy).for_each(|_| drop(scope.spawn(spin)));
        let outcome = (1..=arguments.times).try_for_each(|time| {
            println!("xtask: repeat: {time} of {}", arguments.times);
            repetition().map_err(|Failure(failure)| Failure(format!("repetition {time}: {failure}")))
        });
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Builds the tests once, and returns the function that runs one repetition.
fn repetition(arguments: &Arguments) -> Result<Box<dyn Fn() -> Result<(), Failure> + '_>, Failure> {
    if let Some(file) = &arguments.file {
        browser::prepare()?;
        return Ok(Box::new(move || {
            let mut flags = vec!["--test".to_owned(), "--test-reporter=spec".to_owned()];
            flags.extend(arguments.names.iter().map(|name| format!("--test-name-pattern={name}")));
            flags.push(file.clone());
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            run_reading(&mut browser::node(&flags)?, |_| ())
        }));
    }
    let is_chosen = |name: &str| arguments.program.as_ref().is_none_or(|part| name.contains(part));
    let programs: Vec<_> = programs()?.into_iter().filter(|program| is_chosen(&program.name)).collect();
    let mut settings = Settings { names: arguments.names.clone(), ..Settings::default() };
    settings.environment.extend(vulkan::variables()?);
    Ok(Box::new(move || {
        let outcome = run_programs(&programs, &settings)?;
        // Without this check, every repetition with a misspelt name would pass.
        match outcome.passed {
            0 => {
                Err(Failure("no test ran: no test name contains the given text. Check the names".to_owned()))
            }
            _ => Ok(()),
        }
    }))
}
