//! An environment with Debian's PyTorch. PyPI's package includes gigabytes of code for graphics adapters.

use crate::process::{announce, run as run_command, succeeds};
use crate::workspace::{Failure, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The reason that a test prints if it is skipped because it needs PyTorch.
pub const MISSING: &str = "PyTorch is not installed";
/// The reason that a test prints if it is skipped because it needs the default exporter of a newer PyTorch.
pub const TOO_OLD: &str = "PyTorch is older than";
/// The Python for which Debian's packages are built.
const PYTHON: &str = "/usr/bin/python3";
/// Packages to install in addition to Debian's. NumPy is an older version, because Debian's PyTorch was compiled for
/// NumPy 1.
const PACKAGES: [&str; 5] =
    ["pytest==9.2.0", "numpy==1.26.4", "onnx==1.23.2", "onnxruntime==1.31.1", "scikit-learn==1.9.1"];

/// Returns `true` if Debian's PyTorch is installed.
pub fn is_present() -> bool {
    succeeds(Command::new(PYTHON).args(["-c", "import torch"]))
}

/// Returns the Python of an environment with PyTorch and the wheel; `None` if PyTorch is missing.
///
/// # Errors
/// Fails if a package cannot be installed.
pub fn interpreter(wheel: &Path) -> Result<Option<PathBuf>, Failure> {
    if !is_present() {
        return Ok(None);
    }
    let folder = target().join("python-torch");
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed"));
    let pip = || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip
    };
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == PACKAGES.join("\n")) {
        let mut make = Command::new(PYTHON);
        make.args(["-m", "venv", "--clear", "--system-site-packages"]).arg(&folder);
        let mut install = pip();
        install.args(PACKAGES);
        for command in [&mut make, &mut install] {
            announce(command);
            run_command(command)?;
        }
        fs::write(&stamp, PACKAGES.join("\n"))
            .map_err(|error| Failure(format!("{}: {error}", stamp.display())))?;
    }
    run_command(pip().args(["--no-deps", "--force-reinstall"]).arg(wheel))?;
    Ok(Some(python))
}
