//! The tests and the benchmark that run in headless Chromium.

use crate::outcome::{Outcome, Skipped};
use crate::process::{run as run_command, run_reading, spelled, succeeds};
use crate::wasm_package::{self, tools};
use crate::workspace::{Failure, cargo, root, target};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FOLDER: &str = "tests/browser";
/// Names the browser, for whoever has it elsewhere.
const VARIABLE: &str = "FOLKMOOT_CHROMIUM";
const KNOWN: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Tells whether there is a Chromium that starts.
pub fn has_chromium() -> bool {
    chromium()
        .is_some_and(|path| succeeds(Command::new(path).args(["--headless", "--no-sandbox", "--version"])))
}

fn chromium() -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).map(PathBuf::from);
    named.or_else(|| KNOWN.iter().map(PathBuf::from).find(|path| path.is_file()))
}

/// Builds the browser package and runs its tests.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that a test failed.
pub fn run() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "browser",
            format!("there is no {missing}: `cargo xtask test --only install`"),
        );
    }
    prepare()?;
    let (mut outcome, mut failed) = (Outcome::done(), Vec::new());
    // One after the other: each has a browser, a coordinator and clients.
    for file in files()? {
        let mut tests = node(&["--test", "--test-reporter=spec", &file])?;
        println!("xtask: browser: {}", spelled(&tests));
        if run_reading(&mut tests, |line| outcome.add(tested(line))).is_err() {
            failed.push(file);
        }
    }
    match failed.is_empty() {
        true => outcome.complete(),
        false => Err(Failure(format!("tests of the browser failed: {}", failed.join(", ")))),
    }
}

/// Watches the memory of a page over two hundred rounds.
///
/// # Errors
/// Those of [`run`].
pub fn campaign() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "memory",
            format!("there is no {missing}: `cargo xtask test --only install`"),
        );
    }
    prepare()?;
    let mut tests = node(&["--test", "--test-reporter=spec", "memory.campaign.mjs"])?;
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| outcome.add(tested(line)))?;
    Ok(outcome)
}

/// Builds the package and the program that pages meet.
///
/// # Errors
/// Returns what cannot be built.
pub fn prepare() -> Result<(), Failure> {
    build()?;
    // With a test beside it, the program has the features that it has among all targets, and after the stage that builds
    // those there is nothing to do.
    let mut program = cargo(&["build", "--locked", "--workspace", "--bin", "folkmoot", "--test", "tidy"]);
    println!("xtask: browser: {}", spelled(&program));
    run_command(&mut program)
}

/// Reads what Node says of a test: `✔ name (12.5ms)`, or `﹣ name (0.1ms) # why` of one that was skipped.
pub fn tested(line: &str) -> Outcome {
    let test = |mark: &str| {
        let (name, rest) = line.trim().strip_prefix(mark)?.trim().rsplit_once(" (")?;
        let (milliseconds, why) = rest.split_once("ms)")?;
        let duration = Duration::from_secs_f64(milliseconds.parse::<f64>().ok()? / 1000.0);
        Some((name.to_owned(), duration, why.trim_start_matches([' ', '#']).to_owned()))
    };
    if let Some((name, duration, _)) = test("✔") {
        return Outcome { passed: 1, durations: vec![(duration, name)], ..Outcome::done() };
    }
    let skipped = test("﹣").map(|(name, _, why)| Skipped { name, why });
    Outcome { skipped: skipped.into_iter().collect(), ..Outcome::done() }
}

/// Builds the browser package and measures it beside TensorFlow.js.
///
/// # Errors
/// Returns what is missing, or how the benchmark ended.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        return Err(Failure(format!("the benchmark needs {missing}: `cargo xtask test --only install`")));
    }
    prepare()?;
    run_command(node(&["bench.mjs"])?.args(arguments))
}

/// Builds the console, a program that has it, and measures it.
///
/// # Errors
/// Returns what is missing, or how the benchmark ended.
pub fn bench_console(arguments: &[String]) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        return Err(Failure(format!("the benchmark needs {missing}: `cargo xtask test --only install`")));
    }
    super::console::run()?;
    tools::install_packages(&root().join(FOLDER))?;
    run_command(&mut cargo(&["build", "--release", "-p", "folkmoot-cli", "--bin", "folkmoot"]))?;
    let program = Path::new(&target()).join("release/folkmoot");
    run_command(node(&["console.bench.mjs"])?.args(arguments).env("FOLKMOOT_BIN", program))
}

/// Names what the tests need and is not there.
pub fn missing() -> Option<&'static str> {
    match () {
        () if !tools::has_node() => Some("Node"),
        () if !has_chromium() => Some("Chromium"),
        () if !wasm_package::toolchain::is_present() => Some("compiler for WebAssembly"),
        () => None,
    }
}

/// The files of tests, by name: not every Node finds them in a folder.
fn files() -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(root().join(FOLDER)).map_err(|error| Failure(format!("{FOLDER}: {error}")))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<_> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    files.sort();
    Ok(files)
}

fn build() -> Result<(), Failure> {
    wasm_package::run_if_changed()?;
    tools::install_packages(&root().join(FOLDER))
}

/// A call of Node in the folder of the browser's tests.
///
/// # Errors
/// Returns that there is none.
pub fn node(arguments: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(tools::node_for_browsers()?);
    command.args(arguments).current_dir(root().join(FOLDER));
    command.env("CARGO_TARGET_DIR", Path::new(&target()));
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_from_what_node_says() {
        let passed = tested("✔ a page (with WebGPU) trains (1250.5ms)");
        assert_eq!(
            passed.durations,
            [(Duration::from_micros(1_250_500), "a page (with WebGPU) trains".to_owned())]
        );
        let skipped = tested("﹣ a test (0.08ms) # no adapter");
        assert_eq!(skipped.skipped, [Skipped { name: "a test".to_owned(), why: "no adapter".to_owned() }]);
        assert_eq!(tested("ℹ pass 3"), Outcome::done());
    }
}
