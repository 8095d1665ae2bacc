//! The package for Python: the native library, the module that calls it, the wheel of both, and its tests.

pub mod torch;

use crate::outcome::{Outcome, Skipped};
use crate::process::{announce, run as run_command, run_reading, spelled, succeeds};
use crate::workspace::{Failure, cargo, root, target};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

const FOLDER: &str = "mobile-bindings/python";
/// What builds the wheel, and what its tests compare with.
const PACKAGES: [&str; 10] = [
    "hatchling==1.33.0",
    "pytest==9.2.0",
    "ruff==0.17.6",
    "mypy==2.4.1",
    "numpy==2.4.6",
    "pandas==3.0.6",
    "keyring==25.7.0",
    "onnx==1.23.2",
    "scikit-learn==1.9.1",
    "flwr==1.41.0",
];

/// The profile of a library that others carry.
const OPTIMISED: &str = "mobile";

/// How to build the wheel.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Build with optimisation, as for other machines; without this, as for tests
    #[arg(long)]
    release: bool,
    /// Leave the GPU out: a smaller library that trains on the processor only
    #[arg(long)]
    slim: bool,
}

/// Builds the wheel and says where it lies.
///
/// # Errors
/// Returns what is missing or cannot be built.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut bindgen = cargo(&["build", "--package", "folkmoot-bindgen"]);
    println!("xtask: python: {}", spelled(&bindgen));
    run_command(&mut bindgen)?;
    let wheel = make(&mut build(arguments), if arguments.release { OPTIMISED } else { "debug" })?;
    let library = root().join(FOLDER).join("src/folkmoot/_native").join(library());
    for file in [&library, &wheel] {
        println!("xtask: python: {}: {}", file.display(), size(file)?);
    }
    Ok(())
}

/// The command that builds the library.
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

/// How large a file is, in words.
fn size(file: &Path) -> Result<String, Failure> {
    let metadata = fs::metadata(file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    Ok(format!("{} bytes", metadata.len()))
}

/// Builds the wheel with the workspace's set of features, checks its types and runs its tests.
///
/// # Errors
/// Returns what is missing, what cannot be built, or that a test failed.
pub fn test() -> Result<Outcome, Failure> {
    if !crate::python::is_present() {
        return Outcome::left_out(
            "python",
            "there is no Python 3 with venv: `cargo xtask test --only install`",
        );
    }
    install_packages()?;
    for check in [&["check"][..], &["format", "--check"]] {
        let mut lint = Command::new(interpreter());
        lint.args(["-m", "ruff"]).args(check).arg("--no-cache").current_dir(root());
        println!("xtask: python: {}", spelled(&lint));
        run_command(&mut lint)?;
    }
    // The coordinator too: with a test beside it, all has the features that it has among all targets.
    let mut build = cargo(&["build", "--workspace", "--lib", "--test", "tidy"]);
    build.args(["--bin", "uniffi-bindgen", "--bin", "folkmoot"]);
    let wheel = make(&mut build, "debug")?;
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
            // Flower is not there, and a module that needs it would be skipped as a whole.
            let ran = pytest(&torch, &wheel, &["-k", "torch", "--ignore", "tests/test_flower.py"])?;
            // One without `torch` in its name would run in neither environment.
            if ran.passed < wanted {
                return Err(Failure(format!(
                    "{wanted} tests want PyTorch, and `-k torch` ran {} of them",
                    ran.passed
                )));
            }
            outcome.add(ran);
            outcome.complete()
        }
        // It is Debian's, or nobody's: PyPI's takes gigabytes.
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

/// Reads what pytest says: `SKIPPED [2] tests/a.py:12: why`, `1.50s call tests/a.py::test`, and `90 passed in 31.2s` at the
/// end.
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

/// Builds library and wheel, and returns the wheel.
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
        // Only now: the generator reads the symbols. A library with them is larger, and no worse.
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
    wheels.next().ok_or_else(|| Failure(format!("{} holds no wheel", folder.display())))
}

/// Makes the environment with the packages, unless it is there.
fn install_packages() -> Result<(), Failure> {
    // Written when all of them are there.
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

/// The interpreter that has the wheel, when its tests have run.
pub fn interpreter() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Beside what cargo builds: it goes with `cargo clean`, and a build server may keep it.
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
