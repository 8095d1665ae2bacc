//! Runs the workspace's test programs with a time limit for each test. Reports the durations and the skipped tests.
//!
//! `cargo test` waits forever for a test that hangs. It also reports a test as passed that returned early because a
//! tool is missing. cargo-nextest has time limits, but without a prebuilt binary it takes five minutes of processor
//! time to install. It also starts a process for each test, so every GPU test would have to open its adapter again.
//!
//! A test that cannot run on this system prints `SKIPPED: ` with the reason, and returns.

mod events;
mod programs;

use crate::clock;
use crate::outcome::{Outcome, Skipped};
use crate::process::{follow, spelled};
use crate::workspace::{Failure, forget_own_package};
use events::Event;
pub use programs::{Program, programs};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a test. It exists for tests that hang: the slowest test takes three minutes on two idle cores.
pub const TEST_LIMIT: Duration = Duration::from_secs(600);
/// The number of programs that run at the same time. Some tests wait for clients, retries or timers; meanwhile the
/// other program uses the cores.
const AT_A_TIME: usize = 2;
/// The text that a test prints before the reason if it cannot run on this system.
const SKIPPED: &str = "SKIPPED: ";

/// Settings for the test programs.
#[derive(Debug)]
pub struct Settings {
    /// The variables that are added to the environment of each test program.
    pub environment: BTreeMap<String, String>,
    /// The texts of which a test's name must contain at least one; empty for all tests.
    pub names: Vec<String>,
    /// The environment variables that repeat a test with the same random numbers, as a prefix for a shell command.
    pub replay: String,
    /// The time limit of each test.
    pub limit: Duration,
    /// True if the output of tests that passed is shown, too.
    pub is_told: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let (environment, names, replay) = (BTreeMap::new(), Vec::new(), String::new());
        Self { environment, names, replay, limit: TEST_LIMIT, is_told: false }
    }
}

/// Runs the programs, [`AT_A_TIME`] at a time, even if one fails. The results are in the order of the programs.
///
/// # Errors
/// Lists the failed tests, each with the command that runs it again.
pub fn run(programs: &[Program], settings: &Settings) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::done();
    let mut failed = Vec::new();
    for ran in run_all(programs, settings) {
        match ran {
            Ok(ran) => {
                outcome.add(ran.outcome);
                failed.extend(ran.failed);
            }
            Err(Failure(failure)) => failed.push(failure),
        }
    }
    println!(
        "xtask: test: {} passed, {} failed, {} skipped",
        outcome.passed,
        failed.len(),
        outcome.skipped.len()
    );
    if failed.is_empty() {
        return outcome.complete();
    }
    Err(Failure(format!("{} tests failed:\n  {}", failed.len(), failed.join("\n  "))))
}

/// Runs each program on the first thread that is free.
fn run_all(programs: &[Program], settings: &Settings) -> Vec<Result<Ran, Failure>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((index, program)) = claim(programs, &next) {
                    let ran = run_program(program, settings);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, ran));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, ran)| ran).collect()
}

/// Takes the next program that no thread has taken.
fn claim<'a>(programs: &'a [Program], next: &AtomicUsize) -> Option<(usize, &'a Program)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    programs.get(index).map(|program| (index, program))
}

struct Ran {
    outcome: Outcome,
    /// The failed tests, each as the command that runs it again.
    failed: Vec<String>,
}

fn run_program(program: &Program, settings: &Settings) -> Result<Ran, Failure> {
    let mut command = Command::new(&program.executable);
    forget_own_package(&mut command);
    command.args(&settings.names).current_dir(&program.folder).envs(&settings.environment);
    // `cargo test` also sets this variable.
    command.env("CARGO_MANIFEST_DIR", &program.folder);
    // Only libtest's unstable JSON format has durations and the output of passed tests. RUSTC_BOOTSTRAP enables it on a
    // stable compiler.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options"]);
    command.args(["--format", "json", "--report-time", "--show-output"]);
    let mut state = State::new(program, settings);
    let ended = follow(&mut command, settings.limit, |line| Ok(state.read(line)));
    let told = state.is_complete;
    let name = spelled(&command);
    let ran = state.end();
    match ended {
        // The failed tests are more informative than the exit status.
        Err(_) if told && !ran.failed.is_empty() => Ok(ran),
        Err(Failure(failure)) => {
            Err(Failure(format!("{}: {failure}; {}", program.name, ran.failed.join("; "))))
        }
        Ok(()) if !told => {
            Err(Failure(format!("{}: `{name}` exited before it reported the end of its tests", program.name)))
        }
        Ok(()) => Ok(ran),
    }
}

/// The state of a running program.
struct State<'a> {
    program: &'a Program,
    settings: &'a Settings,
    running: Vec<(String, Instant)>,
    ran: Ran,
    is_complete: bool,
}

impl<'a> State<'a> {
    fn new(program: &'a Program, settings: &'a Settings) -> Self {
        let ran = Ran { outcome: Outcome::done(), failed: Vec::new() };
        Self { program, settings, running: Vec::new(), ran, is_complete: false }
    }

    /// Processes a line of the program's report, and returns the time limit for the next line.
    fn read(&mut self, line: &str) -> Duration {
        match Event::parse(line) {
            Some(Event::Started { name }) => self.running.push((name, clock::now())),
            Some(Event::Ended { name, passed, seconds, printed }) => {
                self.running.retain(|(running, _)| *running != name);
                self.end_test(name, passed, Duration::from_secs_f64(seconds), &printed);
            }
            Some(Event::AllEnded { passed }) => {
                self.is_complete = true;
                println!(
                    "xtask: test: {}: {passed} passed, {} failed",
                    self.program.name,
                    self.ran.failed.len()
                );
            }
            // Output that libtest did not capture, for example from another thread.
            None => println!("{line}"),
            Some(Event::Other) => {}
        }
        self.left()
    }

    /// Returns the time left for the oldest running test.
    fn left(&self) -> Duration {
        let oldest = self.running.iter().map(|(_, started)| started.elapsed()).max();
        self.settings.limit.saturating_sub(oldest.unwrap_or_default())
    }

    fn end_test(&mut self, name: String, passed: bool, duration: Duration, printed: &str) {
        let outcome = &mut self.ran.outcome;
        let skipped = printed.lines().find_map(|line| line.trim().strip_prefix(SKIPPED));
        outcome.durations.push((duration, format!("{} {name}", self.program.name)));
        match (passed, skipped) {
            (true, None) => {
                outcome.passed += 1;
                if self.settings.is_told {
                    println!("{printed}");
                }
            }
            (true, Some(why)) => {
                let name = format!("{} {name}", self.program.name);
                outcome.skipped.push(Skipped { name, why: why.to_owned() });
            }
            (false, _) => {
                println!("---- {} {name} ----\n{printed}", self.program.name);
                self.ran.failed.push(self.again(&name));
            }
        }
    }

    /// Returns the command that runs a test again with the same random numbers.
    fn again(&self, name: &str) -> String {
        let replay = &self.settings.replay;
        let replay = if replay.is_empty() { String::new() } else { format!("{replay} ") };
        format!("{replay}cargo test {} -- --exact {name}", self.program.selection)
    }

    /// Treats every test that is still running as failed.
    fn end(mut self) -> Ran {
        for (name, started) in std::mem::take(&mut self.running) {
            let (again, seconds) = (self.again(&name), started.elapsed().as_secs());
            self.ran.failed.push(format!("{again} (it had not ended after {seconds} s)"));
        }
        self.ran
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            name: "folkmoot-a".to_owned(),
            executable: "sh".into(),
            folder: ".".into(),
            selection: "-p folkmoot-a --lib".to_owned(),
        }
    }

    fn read(lines: &[&str]) -> Ran {
        let program = program();
        let settings = Settings { replay: "SEED=7".to_owned(), ..Settings::default() };
        let mut state = State::new(&program, &settings);
        lines.iter().for_each(|line| {
            state.read(line);
        });
        state.end()
    }

    #[test]
    fn what_passes_fails_is_skipped_and_hangs_is_told_apart() {
        let ran = read(&[
            r#"{ "type": "suite", "event": "started", "test_count": 4 }"#,
            r#"{ "type": "test", "event": "started", "name": "good" }"#,
            r#"{ "type": "test", "event": "started", "name": "bad" }"#,
            r#"{ "type": "test", "name": "good", "event": "ok", "exec_time": 0.5 }"#,
            r#"{ "type": "test", "name": "bad", "event": "failed", "exec_time": 0.25, "stdout": "why\n" }"#,
            r#"{ "type": "test", "event": "started", "name": "left_out" }"#,
            r#"{ "type": "test", "name": "left_out", "event": "ok", "exec_time": 0.0, "stdout": "a\nSKIPPED: no GPU\n" }"#,
            r#"{ "type": "test", "event": "started", "name": "for_ever" }"#,
        ]);
        assert_eq!(ran.outcome.passed, 1);
        let skipped = Skipped { name: "folkmoot-a left_out".to_owned(), why: "no GPU".to_owned() };
        assert_eq!(ran.outcome.skipped, [skipped]);
        assert_eq!(
            ran.failed,
            [
                "SEED=7 cargo test -p folkmoot-a --lib -- --exact bad",
                "SEED=7 cargo test -p folkmoot-a --lib -- --exact for_ever (it had not ended after 0 s)"
            ]
        );
        let slowest = ran.outcome.durations.iter().max().unwrap();
        assert_eq!(*slowest, (Duration::from_millis(500), "folkmoot-a good".to_owned()));
    }

    #[test]
    fn every_program_runs_once_and_the_results_keep_their_order() {
        let named = |number: usize| Program { name: format!("program {number}"), ..program() };
        let programs: Vec<Program> = (0..7).map(named).collect();
        let failures = run_all(&programs, &Settings::default()).into_iter().filter_map(Result::err);
        let names: Vec<String> = failures
            .map(|Failure(failure)| {
                failure.split_once(':').map(|(name, _)| name.to_owned()).unwrap_or_default()
            })
            .collect();
        let expected: Vec<String> = programs.into_iter().map(|program| program.name).collect();
        assert_eq!(names, expected, "`sh` rejects the flags of libtest, so every program fails");
    }

    #[test]
    fn a_program_that_ends_without_a_word_fails() {
        // `sh` rejects libtest's flags and exits with an error.
        assert!(run_program(&program(), &Settings::default()).is_err());
    }
}
