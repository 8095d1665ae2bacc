//! An environment with PyTorch: Debian's, because PyPI's brings gigabytes for graphics adapters.

use crate::process::{announce, run as run_command, succeeds};
use crate::workspace::{Failure, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a test says that there is no PyTorch.
pub const MISSING: &str = "PyTorch is not installed";
/// The Python that Debian's packages are for.
const PYTHON: &str = "/usr/bin/python3";
/// Beside Debian's. Its PyTorch was compiled for the first NumPy.
const PACKAGES: [&str; 4] = ["pytest==9.2.0", "numpy==1.26.4", "onnx==1.23.2", "scikit-learn==1.9.1"];

/// Tells whether Debian's PyTorch is installed.
pub fn is_present() -> bool {
    succeeds(Command::new(PYTHON).args(["-c", "import torch"]))
}

/// Returns the Python of an environment with PyTorch and the wheel; nothing where there is no PyTorch.
///
/// # Errors
/// Returns what cannot be installed.
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
