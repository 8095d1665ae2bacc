//! The tests and the benchmark that run in headless Chromium.

use crate::wasm_package::{self, tools};
use crate::workspace::{Failure, cargo, root, run as run_command, spelled, succeeds, target};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Builds the browser package and runs its tests; where a tool is missing it says so, and on a build server that is an
/// error.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that a test failed.
pub fn run(quick: bool) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        let is_build_server = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        if is_build_server {
            return Err(Failure(format!("the tests of the browser need {missing}")));
        }
        println!("xtask: browser: LEFT OUT, for there is no {missing}: `cargo xtask test --only install`");
        return Ok(());
    }
    build()?;
    // The program that pages meet. With a test beside it, it has the features that it has among all targets, and after the
    // stage that builds those there is nothing to do.
    let mut program = cargo(&["build", "--workspace", "--bin", "folkmoot", "--test", "tidy"]);
    println!("xtask: browser: {}", spelled(&program));
    run_command(&mut program)?;
    let mut failed = Vec::new();
    // One after the other, for some measure time.
    for file in files()? {
        let mut tests = node(&["--test", "--test-reporter=spec", &file])?;
        if quick {
            tests.env(crate::stage::QUICK_VARIABLE, "1");
        }
        println!("xtask: browser: {}", spelled(&tests));
        if run_command(&mut tests).is_err() {
            failed.push(file);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure(format!("tests of the browser failed: {}", failed.join(", ")))),
    }
}

/// Builds the browser package and measures it beside TensorFlow.js.
///
/// # Errors
/// Returns what is missing, or how the benchmark ended.
pub fn bench(arguments: &[String]) -> Result<(), Failure> {
    if let Some(missing) = missing() {
        return Err(Failure(format!("the benchmark needs {missing}: `cargo xtask test --only install`")));
    }
    build()?;
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
    crate::console::run()?;
    tools::install_packages(&root().join(FOLDER))?;
    run_command(&mut cargo(&["build", "--release", "-p", "folkmoot-server", "--bin", "folkmoot"]))?;
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
    wasm_package::run(&wasm_package::Arguments::default())?;
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
