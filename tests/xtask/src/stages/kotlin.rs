//! Builds and tests the Kotlin package: the native library, the generated Kotlin sources, the tests on the JVM, and the
//! files for a Maven repository.

mod app;

use crate::outcome::{Outcome, Skipped};
use crate::process::{announce, run as run_command, run_reading, spelled, succeeds};
use crate::workspace::{Failure, cargo, cargo_build_of_packages, empty, failure, read, root, target, write};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

const FOLDER: &str = "mobile-bindings/kotlin";
/// The reason why this machine cannot build the package.
pub const MISSING: &str = "Java 17 or Maven is missing. Run `cargo xtask test --only install`";
const MAVEN: &str = if cfg!(windows) { "mvn.cmd" } else { "mvn" };
/// The plugin of Maven that copies artifacts and lists dependencies.
const DEPENDENCIES: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";
/// The cargo profile of a released library.
const OPTIMISED: &str = "mobile";

/// Returns `true` if Java and Maven are present.
pub fn is_present() -> bool {
    succeeds(Command::new("javac").arg("-version")) && succeeds(Command::new(MAVEN).arg("--version"))
}

/// Builds the library with the workspace's features, and tests the package with it. Then trains with an app that has the
/// packages only.
///
/// # Errors
/// Fails if a tool is missing on a build server, a build fails, or a test fails.
pub fn test() -> Result<Outcome, Failure> {
    if !is_present() {
        return Outcome::left_out("kotlin", MISSING);
    }
    let mut build = cargo_build_of_packages();
    println!("xtask: kotlin: {}", spelled(&build));
    run_command(&mut build)?;
    generate(&target().join("debug"))?;
    let program = target().join("debug").join(program("folkmoot"));
    let mut tests = deploy()?;
    tests.arg(define("folkmoot.undocumented", &true)).env("FOLKMOOT_PROGRAM", &program);
    println!("xtask: kotlin: {}", spelled(&tests));
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| {
        if let Some(class) = tested_class(line) {
            outcome.add(class);
        }
    })?;
    check_files(&["-sources.jar"])?;
    app::train(&repository(), &platform(), &program)?;
    outcome.passed += 1;
    outcome.complete()
}

/// Builds an optimised library, makes the files for a Maven repository, and trains with an app that has them. Returns the
/// repository.
///
/// # Errors
/// Fails if a tool is missing, a build fails, or the app does not learn.
pub fn release(program: &Path) -> Result<PathBuf, Failure> {
    let library = ["build", "--locked", "--package", "folkmoot-mobile", "--profile", OPTIMISED];
    for mut build in [cargo(&["build", "--locked", "--package", "folkmoot-bindgen"]), cargo(&library)] {
        println!("xtask: kotlin: {}", spelled(&build));
        run_command(&mut build)?;
    }
    generate(&target().join(OPTIMISED))?;
    let mut make = deploy()?;
    make.arg(define("maven.test.skip", &true));
    println!("xtask: kotlin: {}", spelled(&make));
    run_command(&mut make)?;
    check_files(&["-sources.jar", "-javadoc.jar"])?;
    app::train(&repository(), &platform(), program)?;
    Ok(repository())
}

/// Checks that the repository has the files with these endings, and that the POM has the fields that a public
/// repository demands. The app checks the jars that it needs.
fn check_files(endings: &[&str]) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let base = repository().join("org/folkmoot/folkmoot").join(version);
    let file = |ending: &str| base.join(format!("folkmoot-{version}{ending}"));
    for path in endings.iter().map(|ending| file(ending)) {
        fs::metadata(&path).map_err(|error| failure(&path, &error))?;
    }
    let pom = read(&file(".pom"))?;
    let demanded = ["<name>", "<description>", "<url>", "<license>", "<developer>", "<scm>", "kotlin-stdlib"];
    match demanded.into_iter().find(|element| !pom.contains(element)) {
        None => Ok(()),
        Some(element) => Err(Failure(format!("{} has no {element}", file(".pom").display()))),
    }
}

/// Prepares the call of Maven that makes the packages, tests them, and copies them to an empty repository.
fn deploy() -> Result<Command, Failure> {
    empty(&repository())?;
    let mut deploy = maven(&root().join(FOLDER).join("pom.xml"));
    deploy.args(["deploy", "--activate-profiles", "release"]);
    deploy.arg(define("altDeploymentRepository", &format!("files::{}", url(&repository()))));
    deploy.arg(define("folkmoot.native", &native_folder().display()));
    deploy
        .arg(define("folkmoot.build", &maven_folder().display()))
        .arg(define("folkmoot.platform", &platform()));
    Ok(deploy)
}

/// Copies an artifact, such as `group:name:version:jar`, from Maven's central repository into a folder.
///
/// # Errors
/// Fails if Maven cannot download the artifact.
pub fn copy(artifact: &str, folder: &Path) -> Result<(), Failure> {
    let mut copy = maven(&root().join(FOLDER).join("pom.xml"));
    copy.arg(format!("{DEPENDENCIES}:copy")).arg(define("artifact", &artifact));
    copy.arg(define("outputDirectory", &folder.display()));
    announce(&copy);
    run_command(&mut copy)
}

/// Prepares a call of Maven for a project.
fn maven(pom: &Path) -> Command {
    let mut maven = Command::new(MAVEN);
    maven.args(["-B", "--no-transfer-progress", "-f"]).arg(pom);
    maven
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

/// Returns the Maven repository that gets the packages.
fn repository() -> PathBuf {
    target().join("kotlin").join("repository")
}

/// Returns JNA's name of this platform. JNA looks for a library in the folder with this name of each jar.
pub fn platform() -> String {
    let system = match env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    format!("{system}-{}", env::consts::ARCH.replace('_', "-"))
}

/// Generates the Kotlin sources from the library in `built`. Copies the library to them, and a smaller one for the jar.
fn generate(built: &Path) -> Result<(), Failure> {
    let native = native_folder();
    let library = format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let built = built.join(&library);
    let mut generate = Command::new(target().join("debug").join(program("uniffi-bindgen")));
    generate.arg("generate").arg(&built).args(["--language", "kotlin", "--no-format", "--out-dir"]);
    run_command(generate.arg(native.join("bindings")).current_dir(root()))?;
    let packed = native.join("jar").join(platform()).join(&library);
    write(&packed, "")?;
    for copied in [&native.join(library), &packed] {
        fs::copy(&built, copied).map_err(|error| failure(copied, &error))?;
    }
    // A library that keeps its symbols works as well.
    succeeds(
        Command::new("strip")
            .arg(if cfg!(target_os = "macos") { "-x" } else { "--strip-unneeded" })
            .arg(&packed),
    );
    Ok(())
}

/// Returns the address of a folder of this machine.
fn url(folder: &Path) -> String {
    let path = folder.to_string_lossy().replace('\\', "/");
    format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
}

fn define(name: &str, value: &dyn Display) -> String {
    format!("-D{name}={value}")
}

/// Returns a property of the package's POM.
fn pom_property(name: &str) -> Result<String, Failure> {
    let pom = read(&root().join(FOLDER).join("pom.xml"))?;
    let value = pom.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once('<'));
    let value = value.map(|(value, _)| value.to_owned());
    value.ok_or_else(|| Failure(format!("{FOLDER}/pom.xml has no property `{name}`")))
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

    #[test]
    fn a_property_of_the_pom_is_read() {
        assert!(pom_property("kotlin.version").unwrap().starts_with("2."));
        assert!(pom_property("no.such").is_err());
    }
}
