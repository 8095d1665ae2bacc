//! Builds and tests the Swift package: the generated sources, and the tests on Linux or macOS.

mod debian;

use crate::outcome::{Outcome, Skipped};
use crate::process::{output, run as run_command, run_reading, spelled};
use crate::workspace::{Failure, cargo_build_of_packages, read, root, target, write};
use debian::Debian;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

/// The folder of the package.
pub const FOLDER: &str = "mobile-bindings/swift";
/// The C module that UniFFI's generated Swift code imports.
pub const MODULE: &str = "folkmoot_mobileFFI";
/// The place in the manifest that names the library of this checkout, for Apple's systems.
const LIBRARY: &str = r#"path: "build/folkmoot_mobileFFI.xcframework""#;

/// Builds the library with the workspace's features, and tests the package with it.
///
/// The stage is skipped if Swift is missing and cannot be installed, even on a build server: few systems have Swift.
///
/// # Errors
/// Fails if a build or a test fails.
pub fn test() -> Result<Outcome, Failure> {
    let swift = match Swift::find() {
        Ok(swift) => swift,
        Err(Failure(why)) => return Ok(Outcome::unavailable("swift", why)),
    };
    let mut build = cargo_build_of_packages();
    println!("xtask: swift: {}", spelled(&build));
    run_command(&mut build)?;
    check_manifest(&swift)?;
    let package = folder().join("package");
    assemble(&package)?;
    let mut tests = Command::new("swift");
    tests.args(["test", "--disable-swift-testing", "--package-path"]).arg(&package);
    tests.arg("--scratch-path").arg(folder().join("build"));
    println!("xtask: swift: {}", spelled(&tests));
    let mut tests = swift.command(&tests);
    tests.env("FOLKMOOT_LIBRARY_FOLDER", target().join("debug"));
    tests.env("FOLKMOOT_PROGRAM", target().join("debug").join("folkmoot"));
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| outcome.add(tested(line))).map_err(|_| {
        Failure("the Swift package does not compile, or its tests failed; see above".to_owned())
    })?;
    match outcome.passed {
        0 => Err(Failure("`swift test` reported no passed test; see its output above".to_owned())),
        _ => outcome.complete(),
    }
}

/// Returns the manifest of a released package. It downloads the library from the release, and checks its SHA-256 digest.
///
/// # Errors
/// Fails if the manifest of the checkout does not name its library where this function looks.
pub fn manifest(digest: &str) -> Result<String, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let release = format!("{}/releases/download/v{version}", env!("CARGO_PKG_REPOSITORY"));
    let library = format!(r#"url: "{release}/{MODULE}-{version}.xcframework.zip", checksum: "{digest}""#);
    let own = read(&root().join(FOLDER).join("Package.swift"))?;
    match own.contains(LIBRARY) {
        true => Ok(own.replace(LIBRARY, &library)),
        false => Err(Failure(format!("{FOLDER}/Package.swift does not contain `{LIBRARY}`"))),
    }
}

/// Lets Swift evaluate the manifest of a release.
fn check_manifest(swift: &Swift) -> Result<(), Failure> {
    let (package, digest) = (folder().join("released"), "0".repeat(64));
    write(&package.join("Package.swift"), manifest(&digest)?)?;
    let mut evaluate = Command::new("swift");
    evaluate.args(["package", "dump-package", "--package-path"]).arg(&package);
    println!("xtask: swift: {}", spelled(&evaluate));
    let said = output(&mut swift.command(&evaluate))?;
    match said.contains(&format!("\"checksum\" : \"{digest}\"")) {
        true => Ok(()),
        false => Err(Failure(format!("the manifest of a released Swift package has no checksum: {said}"))),
    }
}

/// The system on which Swift runs.
enum Swift {
    /// On this system.
    Here,
    /// In a separate Debian system.
    Debian(Debian),
}

impl Swift {
    /// Returns the Swift in the path, or installs one.
    ///
    /// # Errors
    /// Returns the reason why Swift cannot be installed.
    fn find() -> Result<Self, Failure> {
        // OpenStack has a program with the same name.
        let version = output(Command::new("swift").arg("--version"));
        if version.is_ok_and(|version| version.contains("Swift version")) {
            return Ok(Self::Here);
        }
        Debian::install(folder().join("debian")).map(Self::Debian)
    }

    /// Prepares a call that merges standard error into standard output, because XCTest may write to either.
    fn command(&self, call: &Command) -> Command {
        let mut command = match self {
            Self::Here => Command::new("sh"),
            Self::Debian(debian) => debian.command("sh"),
        };
        command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(call.get_program()).args(call.get_args());
        command
    }
}

/// Returns the folder for Swift, its build results, and the assembled package.
fn folder() -> PathBuf {
    target().join("swift")
}

/// Assembles the package outside the checkout, from links to its sources and the generated sources.
fn assemble(package: &Path) -> Result<(), Failure> {
    let generated = folder().join("generated");
    let library = format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let mut generate = Command::new(target().join("debug").join("uniffi-bindgen"));
    generate.arg("generate").arg(target().join("debug").join(library));
    generate.args(["--language", "swift", "--no-format", "--out-dir"]).arg(&generated);
    run_command(&mut generate)?;
    let build = package.join("build");
    update(&generated.join("folkmoot_mobile.swift"), &build.join("native/folkmoot_mobile.swift"))?;
    update(&generated.join(format!("{MODULE}.h")), &build.join(format!("{MODULE}/{MODULE}.h")))?;
    update(
        &generated.join(format!("{MODULE}.modulemap")),
        &build.join(format!("{MODULE}/module.modulemap")),
    )?;
    let sources = ["Package.swift", "Sources", "Tests"].map(|name| root().join(FOLDER).join(name));
    run_command(Command::new("ln").args(["-sfn"]).args(sources).arg(package))
}

/// Copies a file only if its content has changed, because Swift recompiles every file with a newer timestamp.
fn update(from: &Path, to: &Path) -> Result<(), Failure> {
    let copy = || {
        let content = fs::read(from)?;
        if fs::read(to).is_ok_and(|present| present == content) {
            return Ok(());
        }
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::write(to, content)
    };
    copy().map_err(|error: std::io::Error| Failure(format!("{}: {error}", to.display())))
}

/// Parses a line of XCTest's report. A passed test reads `Test Case 'A.testB' passed (0.1 seconds)`, a skipped one
/// `A.swift:20: A.testB : Test skipped - why`. On macOS, the name is spelled `-[Module.A testB]`.
fn tested(line: &str) -> Outcome {
    let passed = || {
        let (name, seconds) = line.strip_prefix("Test Case '")?.split_once("' passed (")?;
        let seconds = seconds.split_once(" seconds)")?.0.parse().ok()?;
        Some((Duration::from_secs_f64(seconds), name.to_owned()))
    };
    let skipped = || {
        let (test, why) = line.split_once(" : Test skipped - ")?;
        let name = test.rsplit_once(": ")?.1.to_owned();
        Some(Skipped { name, why: why.to_owned() })
    };
    let durations: Vec<_> = passed().into_iter().collect();
    Outcome {
        passed: durations.len(),
        skipped: skipped().into_iter().collect(),
        durations,
        ..Outcome::done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_from_what_xctest_says() {
        let passed = tested("Test Case 'RoundTests.testANoDeclines' passed (1.25 seconds)");
        assert_eq!(passed.passed, 1);
        assert_eq!(
            passed.durations,
            [(Duration::from_millis(1250), "RoundTests.testANoDeclines".to_owned())]
        );
        let on_a_mac =
            tested("Test Case '-[FolkmootTests.RoundTests testANoDeclines]' passed (1.250 seconds).");
        assert_eq!(on_a_mac.durations[0].0, passed.durations[0].0);
        let skipped = tested("/a/B.swift:20: RoundTests.testANoDeclines : Test skipped - there is: none");
        let expected =
            Skipped { name: "RoundTests.testANoDeclines".to_owned(), why: "there is: none".to_owned() };
        assert_eq!(skipped.skipped, [expected]);
        for other in [
            "Test Case 'RoundTests.testANoDeclines' started at 2025-01-01 00:00:00.000",
            "Test Case 'RoundTests.testANoDeclines' skipped (0.0 seconds)",
            "Test Case 'RoundTests.testANoDeclines' failed (0.1 seconds)",
            "Test Suite 'All tests' passed at 2025-01-01 00:00:00.000",
        ] {
            assert_eq!(tested(other), Outcome::done(), "{other}");
        }
    }
}
