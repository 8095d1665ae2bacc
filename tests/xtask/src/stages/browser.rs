//! The tests and benchmarks that run in headless Chromium.

use crate::outcome::{Outcome, Skipped};
use crate::process::{run as run_command, run_reading, spelled, succeeds};
use crate::wasm_package::{self, tools};
use crate::workspace::{Failure, cargo, root, target};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The folder of the browser tests and their npm packages.
pub const FOLDER: &str = "tests/browser";
/// The environment variable with the path of Chromium, for a browser outside the usual places.
const VARIABLE: &str = "FOLKMOOT_CHROMIUM";
const KNOWN: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Returns `true` if Chromium is present and starts.
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
/// Fails if a tool is missing on a build server, a build fails, or a test fails.
pub fn run() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "browser",
            format!("{missing} is missing. Run `cargo xtask test --only install`"),
        );
    }
    prepare()?;
    let (mut outcome, mut failed) = (Outcome::done(), Vec::new());
    // The files run one at a time, because each starts a browser, a coordinator and clients.
    for file in files()? {
        let mut tests = node(&["--test", "--test-reporter=spec", &file])?;
        println!("xtask: browser: {}", spelled(&tests));
        if run_reading(&mut tests, |line| outcome.add(tested(line))).is_err() {
            failed.push(file);
        }
    }
    match failed.is_empty() {
        true => outcome.complete(),
        false => Err(Failure(format!("browser tests failed: {}", failed.join(", ")))),
    }
}

/// Measures the memory of a page over 200 rounds.
///
/// # Errors
/// As for [`run`].
pub fn campaign() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "memory",
            format!("{missing} is missing. Run `cargo xtask test --only install`"),
        );
    }
    prepare()?;
    let mut tests = node(&["--test", "--test-reporter=spec", "memory.campaign.mjs"])?;
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| outcome.add(tested(line)))?;
    Ok(outcome)
}

/// Builds the browser package, and the `folkmoot` program to which the pages connect.
///
/// # Errors
/// Fails if a build fails.
pub fn prepare() -> Result<(), Failure> {
    build()?;
    // With a test target on the command line, cargo selects the same features as for all targets. The results of the
    // stage `build` are then up to date, and nothing is compiled again.
    let mut program = cargo(&["build", "--locked", "--workspace", "--bin", "folkmoot", "--test", "tidy"]);
    println!("xtask: browser: {}", spelled(&program));
    run_command(&mut program)
}

/// Parses a line of Node's test report: `✔ name (12.5ms)` for a passed test, `﹣ name (0.1ms) # why` for a skipped one.
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

/// Builds the browser package, and compares its speed with TensorFlow.js.
///
/// # Errors
/// Fails if a tool is missing, a build fails, or the benchmark fails.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        return Err(Failure(format!(
            "{missing} is missing; the benchmark needs it. Run `cargo xtask test --only install`"
        )));
    }
    prepare()?;
    run_command(node(&["benches/bench.mjs"])?.args(arguments))
}

/// Builds the console and a program that embeds it, and runs the console's benchmark.
///
/// # Errors
/// Fails if a tool is missing, a build fails, or the benchmark fails.
pub fn bench_console(arguments: &[String]) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        return Err(Failure(format!(
            "{missing} is missing; the benchmark needs it. Run `cargo xtask test --only install`"
        )));
    }
    super::console::run()?;
    install()?;
    run_command(&mut cargo(&["build", "--release", "-p", "folkmoot-cli", "--bin", "folkmoot"]))?;
    let program = Path::new(&target()).join("release/folkmoot");
    run_command(node(&["benches/console.bench.mjs"])?.args(arguments).env("FOLKMOOT_BIN", program))
}

/// Returns the name of a missing tool that the tests need; `None` if all are present.
pub fn missing() -> Option<&'static str> {
    match () {
        () if !tools::has_node() => Some("Node.js"),
        () if !has_chromium() => Some("Chromium"),
        () if !wasm_package::toolchain::is_present() => Some("the compiler for WebAssembly"),
        () => None,
    }
}

/// Returns the names of the test files. Older versions of Node do not find test files in a folder.
fn files() -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(root().join(FOLDER)).map_err(|error| Failure(format!("{FOLDER}: {error}")))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<_> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    files.sort();
    Ok(files)
}

fn build() -> Result<(), Failure> {
    wasm_package::run_if_changed()?;
    install()
}

/// Installs the npm packages of the tests.
///
/// # Errors
/// Fails if npm is missing or cannot install them.
pub fn install() -> Result<(), Failure> {
    tools::install_packages(&root().join(FOLDER))
}

/// Prepares a call of Node in the folder of the browser tests.
///
/// # Errors
/// Fails if no suitable Node is present or can be installed.
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
