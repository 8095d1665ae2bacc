//! Runs the workspace's test programs: with a limit for each test, with how long each took, and with what was skipped.
//!
//! cargo's own `cargo test` waits for ever for a test that hangs, and calls a test passed that found its tool missing and
//! returned. cargo-nextest knows limits, but it takes five minutes of processor time to install where there is no binary,
//! and starts a process for each test, which costs the tests of the GPU their open adapter.
//!
//! A test that cannot run where it is prints `SKIPPED: ` and the reason, and returns.

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
use std::time::{Duration, Instant};

/// How long a test may take. It ends a test that hangs: the slowest takes half a minute on two quiet cores.
pub const TEST_LIMIT: Duration = Duration::from_secs(600);
/// What a test prints that cannot run where it is.
const SKIPPED: &str = "SKIPPED: ";

/// What the programs are told.
#[derive(Debug)]
pub struct Settings {
    /// Variables of the environment.
    pub environment: BTreeMap<String, String>,
    /// Run only the tests whose name contains one of these; all without any.
    pub names: Vec<String>,
    /// How to run a failed test again: the variables that decide what it draws.
    pub replay: String,
    /// How long a test may take.
    pub limit: Duration,
    /// Show also what tests printed that passed.
    pub is_told: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let (environment, names, replay) = (BTreeMap::new(), Vec::new(), String::new());
        Self { environment, names, replay, limit: TEST_LIMIT, is_told: false }
    }
}

/// Runs the programs one after the other, all of them even if one fails.
///
/// # Errors
/// Returns which tests failed, and how to run them again.
pub fn run(programs: &[Program], settings: &Settings) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::done();
    let mut failed = Vec::new();
    for program in programs {
        match run_program(program, settings) {
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

struct Ran {
    outcome: Outcome,
    /// The tests that failed, each as the command that runs it again.
    failed: Vec<String>,
}

fn run_program(program: &Program, settings: &Settings) -> Result<Ran, Failure> {
    let mut command = Command::new(&program.executable);
    forget_own_package(&mut command);
    command.args(&settings.names).current_dir(&program.folder).envs(&settings.environment);
    // As cargo does it.
    command.env("CARGO_MANIFEST_DIR", &program.folder);
    // libtest tells times and what passed tests printed only in its unstable format, on a stable compiler if it is asked to.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options"]);
    command.args(["--format", "json", "--report-time", "--show-output"]);
    let mut state = State::new(program, settings);
    let ended = follow(&mut command, settings.limit, |line| Ok(state.read(line)));
    let told = state.is_complete;
    let name = spelled(&command);
    let ran = state.end();
    match ended {
        // Its tests say more than its exit status.
        Err(_) if told && !ran.failed.is_empty() => Ok(ran),
        Err(Failure(failure)) => {
            Err(Failure(format!("{}: {failure}; {}", program.name, ran.failed.join("; "))))
        }
        Ok(()) if !told => {
            Err(Failure(format!("{}: `{name}` did not say how its tests ended", program.name)))
        }
        Ok(()) => Ok(ran),
    }
}

/// What is known of a program that runs.
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

    /// Takes what the program says in, and says how long the next line may take.
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
            // A test that writes beside libtest's capture, from another thread for example.
            None => println!("{line}"),
            Some(Event::Other) => {}
        }
        self.left()
    }

    /// How long the oldest running test may still take.
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

    /// The command that runs a test again as it ran.
    fn again(&self, name: &str) -> String {
        let replay = &self.settings.replay;
        let replay = if replay.is_empty() { String::new() } else { format!("{replay} ") };
        format!("{replay}cargo test {} -- --exact {name}", self.program.selection)
    }

    /// What did not end failed.
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
    fn a_program_that_ends_without_a_word_fails() {
        // `sh` takes libtest's flags for its own and ends with an error.
        assert!(run_program(&program(), &Settings::default()).is_err());
    }
}
