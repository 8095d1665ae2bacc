//! The linter and the formatter of shell scripts.

use super::{Linted, call, check_format};
use crate::python::program;
use crate::workspace::{Failure, files, root};
use std::process::Command;

/// The folders that contain shell scripts.
const FOLDERS: [&str; 2] = ["examples", "mobile-bindings"];
/// The script without an extension.
const CI: &str = ".ci/run";
/// The style: four spaces, and the patterns of `case` are indented.
const STYLE: [&str; 3] = ["-i", "4", "-ci"];

/// Runs shellcheck and shfmt on every script.
pub fn lint() -> Result<Linted, Failure> {
    let (Some(shellcheck), Some(shfmt)) = (program("shellcheck"), program("shfmt")) else {
        return Ok(Linted::Missing("shellcheck or shfmt"));
    };
    let scripts = scripts()?;
    call(Command::new(shellcheck).args(&scripts))?;
    let format = format!("{} -w {}", shfmt.display(), STYLE.join(" "));
    check_format(Command::new(shfmt).arg("-d").args(STYLE).args(&scripts), &format)?;
    Ok(Linted::Passed)
}

/// Returns `.ci/run`, and every file whose name ends in `.sh` outside of npm packages.
fn scripts() -> Result<Vec<String>, Failure> {
    let mut scripts = vec![CI.to_owned()];
    for folder in FOLDERS {
        let files = files(&root().join(folder))?.into_iter();
        let own = files.filter(|file| file.ends_with(".sh") && !file.contains("node_modules/"));
        scripts.extend(own.map(|file| format!("{folder}/{file}")));
    }
    Ok(scripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found() {
        let scripts = scripts().unwrap();
        for name in [".ci/run", "build-native.sh", "prerm.sh"] {
            assert!(scripts.iter().any(|script| script.ends_with(name)), "{name} is not in {scripts:?}");
        }
    }
}
