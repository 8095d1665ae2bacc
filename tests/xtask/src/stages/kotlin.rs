//! Builds and tests the Kotlin package: the native library, the generated Kotlin sources, and the tests on the JVM.

use crate::outcome::{Outcome, Skipped};
use crate::process::{run as run_command, run_reading, spelled, succeeds};
use crate::workspace::{Failure, cargo_build_of_packages, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

const FOLDER: &str = "mobile-bindings/kotlin";

/// Returns `true` if Java and Maven are present.
pub fn is_present() -> bool {
    succeeds(Command::new("javac").arg("-version")) && succeeds(Command::new("mvn").arg("--version"))
}

/// Builds the library with the workspace's features, and tests the package with it.
///
/// # Errors
/// Fails if a tool is missing on a build server, a build fails, or a test fails.
pub fn test() -> Result<Outcome, Failure> {
    if !is_present() {
        return Outcome::left_out(
            "kotlin",
            "Java 17 or Maven is missing. Run `cargo xtask test --only install`",
        );
    }
    let mut build = cargo_build_of_packages();
    println!("xtask: kotlin: {}", spelled(&build));
    run_command(&mut build)?;
    let (native, maven) = (native_folder(), maven_folder());
    generate(&native)?;
    let mut tests = Command::new("mvn");
    tests.args(["-B", "--no-transfer-progress", "-f"]).arg(root().join(FOLDER).join("pom.xml")).arg("verify");
    tests.arg(define("folkmoot.native", &native)).arg(define("folkmoot.build", &maven));
    tests.env("FOLKMOOT_PROGRAM", target().join("debug").join(program("folkmoot")));
    println!("xtask: kotlin: {}", spelled(&tests));
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| {
        if let Some(class) = tested_class(line) {
            outcome.add(class);
        }
    })?;
    outcome.complete()
}

/// Parses Maven's summary of a test class: `Tests run: 5, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 2.1 s -- in
/// a.B`.
fn tested_class(line: &str) -> Option<Outcome> {
    let (counts, rest) = line.split_once("Tests run: ")?.1.split_once(", Time elapsed: ")?;
    let (seconds, class) = rest.split_once(" s -- in ")?;
    let mut numbers =
        counts.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse::<usize>().ok());
    let (run, failed, broken, skipped) = (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?);
    let skip = || Skipped { name: class.to_owned(), why: "the class names the reason".to_owned() };
    Some(Outcome {
        passed: run.saturating_sub(failed + broken + skipped),
        skipped: std::iter::repeat_with(skip).take(skipped).collect(),
        durations: vec![(Duration::from_secs_f64(seconds.parse().ok()?), class.to_owned())],
        ..Outcome::done()
    })
}

/// Returns the folder of the native library and the generated sources.
pub fn native_folder() -> PathBuf {
    target().join("kotlin").join("native")
}

/// Returns Maven's build folder.
pub fn maven_folder() -> PathBuf {
    target().join("kotlin").join("maven")
}

/// Generates the Kotlin sources and copies the library to them.
fn generate(native: &Path) -> Result<(), Failure> {
    let library = format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let built = target().join("debug").join(&library);
    let mut generate = Command::new(target().join("debug").join(program("uniffi-bindgen")));
    generate.arg("generate").arg(&built).args(["--language", "kotlin", "--no-format", "--out-dir"]);
    run_command(generate.arg(native.join("bindings")).current_dir(root()))?;
    let copied = native.join(library);
    fs::copy(&built, &copied).map_err(|error| Failure(format!("{}: {error}", copied.display())))?;
    Ok(())
}

fn define(name: &str, value: &Path) -> String {
    format!("-D{name}={}", value.display())
}

fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_once() {
        let line = "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 2.125 s -- in a.KilledTest";
        let outcome = tested_class(line).unwrap();
        assert_eq!((outcome.passed, outcome.skipped.len()), (4, 1));
        assert_eq!(outcome.durations, [(Duration::from_millis(2125), "a.KilledTest".to_owned())]);
        // The total of all classes has no elapsed time.
        assert_eq!(tested_class("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1"), None);
    }
}
