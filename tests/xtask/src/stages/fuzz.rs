//! `cargo xtask fuzz`: searches for bytes that make a decoder panic or exceed its memory limit.
//!
//! The targets of `tests/fuzz` are built with the coverage that libFuzzer needs, and run one after the other. Flags of
//! the stable compiler replace cargo-fuzz. The inputs of findings are kept in `fuzz/<target>/found` in the target
//! folder. To run one again, use `cargo xtask fuzz --input FILE <target>`.

use crate::process::{run as run_command, spelled};
use crate::workspace::{Failure, cargo, host, target as target_folder};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, str};

const MANIFEST: &str = "tests/fuzz/Cargo.toml";
/// Targets for data that clients and coordinators exchange, and for files that users supply.
const TARGETS: [&str; 8] =
    ["payload", "update", "recipe", "values", "onnx", "safetensors", "data", "message"];
/// Targets for data that only a coordinator reads. They are built only on request, because the whole coordinator must
/// be compiled with coverage.
const COORDINATOR_TARGETS: [&str; 3] = ["task", "configuration", "http"];
/// The run time of each target in the test stage, in seconds.
const BRIEF_SECONDS: u32 = 5;
/// Compiler flags for edge counters and traced comparisons.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
/// The environment variable with the folder into which a target writes its seeds at the start.
const SEEDS_VARIABLE: &str = "FOLKMOOT_FUZZ_SEEDS";
/// The maximum length of an input, in bytes: about twice the longest seed of most targets.
const INPUT_BYTES_MAX: u32 = 16 << 10;
/// The memory limit of a target for all its inputs, in MiB. Each input has a much smaller limit.
const MEMORY_MEBIBYTES_MAX: u32 = 1024;
/// The time limit for one input, in seconds. An input that takes longer is a finding.
const INPUT_SECONDS_MAX: u32 = 10;

/// The targets to run, and their run time.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Target to run; by default, all targets except the coordinator's
    #[arg(value_parser = every_target())]
    target: Option<String>,
    /// Also run the coordinator's targets
    #[arg(long)]
    coordinator: bool,
    /// Run time of each target, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Run only this input, to reproduce a finding
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
}

impl Arguments {
    /// Returns the arguments of the test stage: every target except the coordinator's, for five seconds each.
    pub fn briefly() -> Self {
        Self { target: None, coordinator: false, seconds: BRIEF_SECONDS, input: None }
    }

    /// Returns the arguments that run every target for `seconds` each.
    pub fn for_seconds(seconds: u32) -> Self {
        Self { target: None, coordinator: true, seconds, input: None }
    }

    /// Returns `true` if the arguments select the target.
    fn names(&self, target: &str) -> bool {
        match &self.target {
            Some(only) => only == target,
            None => self.coordinator || TARGETS.contains(&target),
        }
    }
}

/// Builds the targets and runs them until the first finding.
///
/// # Errors
/// Names the target with the finding, and the folder with its input.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let host = host()?;
    let folder = target_folder().join("fuzz");
    let mut build = cargo(&["build", "--locked", "--release", "--manifest-path", MANIFEST]);
    // With an explicit target, cargo does not use the coverage flags for build scripts, which are not linked with a
    // fuzzer.
    build.args(["--target", &host]).arg("--target-dir").arg(&folder).env("RUSTFLAGS", COVERAGE.join(" "));
    let targets: Vec<&str> = every_target().into_iter().filter(|target| arguments.names(target)).collect();
    build.args(targets.iter().flat_map(|target| ["--bin", target]));
    if targets.iter().any(|target| COORDINATOR_TARGETS.contains(target)) {
        build.args(["--features", "coordinator"]);
    }
    if arguments.seconds <= BRIEF_SECONDS {
        // In a brief run, optimising would take longer than it saves.
        build.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    }
    println!("xtask: fuzz: {}", spelled(&build));
    run_command(&mut build)?;
    let programs = folder.join(host).join("release");
    targets.into_iter().try_for_each(|target| {
        let program = programs.join(target);
        match &arguments.input {
            Some(input) => run_command(Command::new(program).arg(input)),
            None => search(target, &program, &folder.join(target), arguments.seconds),
        }
    })
}

/// Returns the names of all targets.
fn every_target() -> Vec<&'static str> {
    [&TARGETS[..], &COORDINATOR_TARGETS[..]].concat()
}

/// Runs one target. Its folder keeps the corpus between runs: the inputs that reached new code.
fn search(target: &str, program: &Path, folder: &Path, seconds: u32) -> Result<(), Failure> {
    let [seeds, corpus, found] = ["seeds", "corpus", "found"].map(|name| folder.join(name));
    // Remove the seeds of earlier versions, because an outdated format only costs time.
    let _ = fs::remove_dir_all(&seeds);
    for folder in [&seeds, &corpus, &found] {
        fs::create_dir_all(folder)
            .map_err(|error| Failure(format!("{} cannot be created: {error}", folder.display())))?;
    }
    let limits = [
        format!("-max_total_time={seconds}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-rss_limit_mb={MEMORY_MEBIBYTES_MAX}"),
        format!("-timeout={INPUT_SECONDS_MAX}"),
        format!("-artifact_prefix={}/", found.display()),
    ];
    println!("xtask: fuzz: {target} for {seconds} s");
    let log = folder.join("log");
    let file = fs::File::create(&log)
        .map_err(|error| Failure(format!("{} cannot be written: {error}", log.display())))?;
    let mut command = Command::new(program);
    command.args(limits).arg("-print_final_stats=1").args([&corpus, &seeds]);
    let outcome = run_command(command.env(SEEDS_VARIABLE, &seeds).stderr(file));
    // The fuzzer also logs every input that reached new code. These lines begin with `#`.
    let is_told = |line: &&str| outcome.is_err() && !line.starts_with('#') || line.starts_with("stat::");
    let log = fs::read(&log).unwrap_or_default();
    String::from_utf8_lossy(&log).lines().filter(is_told).for_each(|line| println!("{line}"));
    outcome.map_err(|Failure(failure)| {
        Failure(format!(
            "{failure}; the input that fails is in {}. Run it again with `cargo xtask fuzz --input FILE {target}`",
            found.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn every_target_of_the_package_is_run() {
        let manifest = fs::read_to_string(root().join(MANIFEST)).unwrap();
        let named = manifest.lines().filter_map(|line| line.strip_prefix("path = \"targets/")).count();
        assert_eq!(named, every_target().len());
        for target in every_target() {
            assert!(manifest.contains(&format!("path = \"targets/{target}.rs\"")), "{target}");
        }
    }

    #[test]
    fn the_host_is_known() {
        assert!(host().unwrap().contains('-'));
    }
}
