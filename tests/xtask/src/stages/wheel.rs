//! Builds and tests the Python package: the native library, the generated module, the wheel with both, and the tests.

pub mod torch;

use crate::outcome::{Outcome, Skipped};
use crate::process::{announce, run as run_command, run_reading, spelled, succeeds};
use crate::workspace::{Failure, cargo, cargo_build_of_packages, root, target};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

const FOLDER: &str = "mobile-bindings/python";
/// The packages that build the wheel, and those that its tests use.
const PACKAGES: [&str; 11] = [
    "hatchling==1.33.0",
    "pytest==9.2.0",
    "ruff==0.17.6",
    "mypy==2.4.1",
    "numpy==2.4.6",
    "pandas==3.0.6",
    "keyring==25.7.0",
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "scikit-learn==1.9.1",
    "flwr==1.41.0",
];

/// The cargo profile of a released library.
const OPTIMISED: &str = "mobile";

/// Options for building the wheel.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Build an optimised wheel for distribution; the default is a debug build
    #[arg(long)]
    release: bool,
    /// Build without GPU support: a smaller library that trains on the processor only
    #[arg(long)]
    slim: bool,
}

/// Builds the wheel and prints its path.
///
/// # Errors
/// Fails if a tool is missing or a build fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let wheel = built(arguments)?;
    let library = root().join(FOLDER).join("src/folkmoot/_native").join(library());
    for file in [&library, &wheel] {
        println!("xtask: python: {}: {}", file.display(), size(file)?);
    }
    Ok(())
}

/// Builds an optimised wheel, and returns its path.
///
/// # Errors
/// As for [`run`].
pub fn release() -> Result<PathBuf, Failure> {
    built(&Arguments { release: true, slim: false })
}

fn built(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let mut bindgen = cargo(&["build", "--package", "folkmoot-bindgen"]);
    println!("xtask: python: {}", spelled(&bindgen));
    run_command(&mut bindgen)?;
    make(&mut build(arguments), if arguments.release { OPTIMISED } else { "debug" })
}

/// Returns the command that builds the library.
fn build(arguments: &Arguments) -> Command {
    let mut build = cargo(&["build", "--package", "folkmoot-mobile"]);
    if arguments.slim {
        build.arg("--no-default-features");
    }
    if arguments.release {
        build.args(["--profile", OPTIMISED]);
    }
    build
}

/// Formats the size of a file for people.
fn size(file: &Path) -> Result<String, Failure> {
    let metadata = fs::metadata(file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    Ok(format!("{} bytes", metadata.len()))
}

/// Builds the wheel with the workspace's features, checks its types and runs its tests.
///
/// # Errors
/// Fails if a tool is missing on a build server, a build fails, or a test fails.
pub fn test() -> Result<Outcome, Failure> {
    if !crate::python::is_present() {
        return Outcome::left_out(
            "python",
            "Python 3 with venv is missing. Run `cargo xtask test --only install`",
        );
    }
    install_packages()?;
    for check in [&["check"][..], &["format", "--check"]] {
        let mut lint = Command::new(interpreter());
        lint.args(["-m", "ruff"]).args(check).arg("--no-cache").current_dir(root());
        println!("xtask: python: {}", spelled(&lint));
        run_command(&mut lint)?;
    }
    // This also builds the coordinator.
    let wheel = make(&mut cargo_build_of_packages(), "debug")?;
    let mut install = pip("install");
    install.args(["--no-deps", "--force-reinstall"]).arg(&wheel);
    run_command(&mut install)?;
    let mut types = Command::new(interpreter());
    types.args(["-m", "mypy", "--cache-dir"]).arg(target().join("mypy")).current_dir(root().join(FOLDER));
    println!("xtask: python: {}", spelled(&types));
    run_command(&mut types)?;
    let mut outcome = pytest(&interpreter(), &wheel, &[])?;
    match torch::interpreter(&wheel)? {
        Some(torch) => {
            let skipped = outcome.skipped.len();
            outcome.skipped.retain(|skipped| !skipped.why.starts_with(torch::MISSING));
            let wanted = skipped - outcome.skipped.len();
            // This environment has no Flower, so pytest would skip the modules that import it.
            let mut ran = pytest(&torch, &wheel, &["-k", "torch", "--ignore-glob", "tests/test_flower*.py"])?;
            // Even a build server has only Debian's PyTorch. The files that a newer one wrote are in the engine's zoo.
            let skipped = ran.skipped.len();
            ran.skipped.retain(|skipped| !skipped.why.starts_with(torch::TOO_OLD));
            let newer = skipped - ran.skipped.len();
            println!("xtask: python: SKIPPED: {newer} tests need a newer PyTorch than Debian's");
            // A test that needs PyTorch but has no `torch` in its name would run in neither environment.
            if ran.passed < wanted {
                return Err(Failure(format!(
                    "{wanted} tests need PyTorch, but `-k torch` ran only {}. Put `torch` into the name of each",
                    ran.passed
                )));
            }
            outcome.add(ran);
            outcome.complete()
        }
        // Without Debian's PyTorch, these tests are skipped: PyPI's package has a size of several gigabytes.
        None => Ok(outcome),
    }
}

fn pytest(interpreter: &Path, wheel: &Path, selection: &[&str]) -> Result<Outcome, Failure> {
    let mut tests = Command::new(interpreter);
    tests
        .args(["-B", "-m", "pytest", "-q", "-rs", "--durations=20", "--tb=short", "-p", "no:cacheprovider"])
        .args(selection)
        .current_dir(root().join(FOLDER));
    tests.env("FOLKMOOT_PROGRAM", target().join("debug").join(program("folkmoot")));
    tests.env("FOLKMOOT_WHEEL", wheel).env("PYTHONDONTWRITEBYTECODE", "1");
    println!("xtask: python: {}", spelled(&tests));
    let mut outcome = Outcome::done();
    run_reading(&mut tests, |line| outcome.add(tested(line)))?;
    Ok(outcome)
}

/// Parses a line of pytest's report: `SKIPPED [2] tests/a.py:12: why`, `1.50s call tests/a.py::test`, or the last line
/// `90 passed in 31.2s`.
fn tested(line: &str) -> Outcome {
    let skipped = || {
        let (count, rest) = line.strip_prefix("SKIPPED [")?.split_once("] ")?;
        let (name, why) = rest.split_once(": ")?;
        Some(vec![Skipped { name: name.to_owned(), why: why.to_owned() }; count.parse().ok()?])
    };
    let duration = || {
        let (seconds, name) = line.trim().split_once("s call")?;
        Some((Duration::from_secs_f64(seconds.parse().ok()?), name.trim().to_owned()))
    };
    let passed = || line.split_once(" passed")?.0.rsplit([' ', '=']).next()?.parse().ok();
    Outcome {
        passed: passed().unwrap_or_default(),
        skipped: skipped().unwrap_or_default(),
        durations: duration().into_iter().collect(),
        ..Outcome::done()
    }
}

/// Builds the library and the wheel, and returns the path of the wheel.
fn make(build: &mut Command, profile: &str) -> Result<PathBuf, Failure> {
    install_packages()?;
    println!("xtask: python: {}", spelled(build));
    run_command(build)?;
    let built = target().join(profile);
    let native = root().join(FOLDER).join("src/folkmoot/_native");
    let library = built.join(library());
    let mut generate = Command::new(target().join("debug").join(program("uniffi-bindgen")));
    generate.arg("generate").arg(&library).args(["--language", "python", "--no-format", "--out-dir"]);
    run_command(generate.arg(&native).current_dir(root()))?;
    let copied = native.join(self::library());
    fs::copy(&library, &copied).map_err(|error| Failure(format!("{}: {error}", copied.display())))?;
    if profile == OPTIMISED {
        // Strip the library only now, because the generator reads its symbols. If stripping fails, the library is
        // larger but works.
        succeeds(
            Command::new("strip")
                .arg(if cfg!(target_os = "macos") { "-x" } else { "--strip-unneeded" })
                .arg(&copied),
        );
    }
    wheel()
}

fn wheel() -> Result<PathBuf, Failure> {
    let folder = target().join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    }
    let mut make = pip("wheel");
    make.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(&folder).arg(root().join(FOLDER));
    run_command(&mut make)?;
    let wheels = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.next().ok_or_else(|| Failure(format!("the build left no wheel in {}", folder.display())))
}

/// Creates the environment with the packages, unless it exists.
fn install_packages() -> Result<(), Failure> {
    // The stamp is written when all packages are installed.
    let stamp = environment().join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == PACKAGES.join("\n")) {
        return Ok(());
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(environment());
    let mut install = pip("install");
    install.args(PACKAGES);
    for command in [&mut make, &mut install] {
        announce(command);
        run_command(command)?;
    }
    fs::write(&stamp, PACKAGES.join("\n")).map_err(|error| Failure(format!("{}: {error}", stamp.display())))
}

fn pip(verb: &str) -> Command {
    let mut command = Command::new(interpreter());
    command.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check"]);
    command
}

/// Returns the interpreter of the environment. It has the wheel once this stage has run.
pub fn interpreter() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Returns the environment's folder. It is in the target folder, so `cargo clean` removes it and a build server can
/// cache it.
fn environment() -> PathBuf {
    target().join("python-package")
}

fn library() -> String {
    format!("{}folkmoot_mobile{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_has_the_gpu_unless_it_is_slim() {
        let built = |slim, release| spelled(&build(&Arguments { release, slim }));
        assert_eq!(built(false, true), "cargo build --package folkmoot-mobile --profile mobile");
        let slim = "cargo build --package folkmoot-mobile --no-default-features --profile mobile";
        assert_eq!(built(true, true), slim);
        assert_eq!(built(true, false), "cargo build --package folkmoot-mobile --no-default-features");
    }

    #[test]
    fn tests_are_read_from_what_pytest_says() {
        let outcome = tested("SKIPPED [2] tests/test_a.py:12: could not import 'torch'");
        assert_eq!(outcome.skipped.len(), 2);
        assert_eq!(outcome.skipped[0].why, "could not import 'torch'");
        let outcome = tested("1.50s call     tests/test_a.py::test_b");
        assert_eq!(outcome.durations, [(Duration::from_millis(1500), "tests/test_a.py::test_b".to_owned())]);
        assert_eq!(tested("90 passed, 2 skipped in 31.20s").passed, 90);
        assert_eq!(tested("......                                    [100%]"), Outcome::done());
    }
}
