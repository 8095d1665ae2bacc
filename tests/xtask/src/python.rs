//! The Python packages that tests compare with, in an environment of their own.

use crate::process::{announce, run, succeeds};
use crate::workspace::{Failure, target};
use std::path::PathBuf;
use std::process::Command;

/// Tells tests which interpreter has the packages.
pub const VARIABLE: &str = "FOLKMOOT_PYTHON";
/// The packages. `docs/operators.md` names this version.
const PACKAGES: [&str; 2] = ["onnx==1.23.2", "schemathesis==4.32.5"];

/// Tells whether there is a Python that can make an environment.
pub fn is_present() -> bool {
    succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

/// Returns the interpreter that has the packages, if it is there.
pub fn interpreter() -> Option<PathBuf> {
    let python = environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    has_packages(&python).then_some(python)
}

/// Makes the environment, unless it is there or there is no Python.
///
/// # Errors
/// Returns which command did not succeed.
pub fn install_packages() -> Result<(), Failure> {
    if interpreter().is_some() || !is_present() {
        return Ok(());
    }
    let folder = environment();
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    let mut install =
        Command::new(folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" }));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    for command in [&mut make, &mut install] {
        announce(command);
        run(command)?;
    }
    Ok(())
}

/// Asks for the versions that [`PACKAGES`] pins.
fn has_packages(python: &PathBuf) -> bool {
    const SCRIPT: &str = "import sys, importlib.metadata as m\n\
                          sys.exit(any(m.version(n) != v for n, v in (p.split('==') for p in sys.argv[1:])))";
    python.is_file() && succeeds(Command::new(python).args(["-c", SCRIPT]).args(PACKAGES))
}

/// Beside what cargo builds: it goes with `cargo clean`, and a build server may keep it.
fn environment() -> PathBuf {
    target().join("python")
}
