//! Runs linters for shell scripts, TypeScript and JavaScript, and checks a lock file. The Python linter runs in the stage
//! `python`, because it needs the environment of that stage.

use crate::outcome::{Outcome, Skipped};
use crate::process::{run as run_command, spelled, succeeds};
use crate::wasm_package::tools;
use crate::workspace::{Failure, cargo, root};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

/// The folder whose npm packages include biome.
const PACKAGES: &str = "tests/browser";
/// The folders that contain shell scripts.
const SCRIPTS: [&str; 3] = [".ci", "mobile-bindings", "examples/deploy/debian"];
/// The other workspace whose lock file is committed. It depends on packages of this workspace, so a new dependency here
/// changes its lock file, too.
const FUZZ_TARGETS: &str = "tests/fuzz/Cargo.toml";

/// Returns `true` if shellcheck is present.
pub fn has_shellcheck() -> bool {
    succeeds(Command::new("shellcheck").arg("--version"))
}

/// Lints shell scripts, checks the lints and format of TypeScript and JavaScript, and checks that the lock file of
/// the fuzz targets is up to date.
///
/// # Errors
/// Fails if a linter finds a problem, if the lock file is outdated, or if a linter is missing on a build server.
pub fn test() -> Result<Outcome, Failure> {
    let mut outcome = Outcome::done();
    call(&mut cargo(&["update", "--quiet", "--workspace", "--locked", "--manifest-path", FUZZ_TARGETS]))?;
    let mut skip = |name: &str, why: &str| {
        outcome.skipped.push(Skipped {
            name: name.to_owned(),
            why: format!("{why}. Run `cargo xtask test --only install`"),
        });
    };
    match has_shellcheck() {
        true => call(Command::new("shellcheck").args(scripts()?))?,
        false => skip("shell scripts", "shellcheck is missing"),
    }
    match tools::has_node() {
        true => {
            tools::install_packages(&root().join(PACKAGES))?;
            let mut biome = Command::new(tools::node_for_browsers()?);
            biome.arg(root().join(PACKAGES).join("node_modules/@biomejs/biome/bin/biome"));
            call(biome.args(["check", "--error-on-warnings", "."]))?;
        }
        false => skip("TypeScript and JavaScript", "Node.js is missing"),
    }
    outcome.complete()
}

fn call(command: &mut Command) -> Result<(), Failure> {
    println!("xtask: lint: {}", spelled(command));
    run_command(command.current_dir(root()))
}

/// Returns `.ci/run` and every file whose name ends in `.sh`.
fn scripts() -> Result<Vec<PathBuf>, Failure> {
    let mut scripts = Vec::new();
    for folder in SCRIPTS {
        collect(&root().join(folder), &mut scripts)?;
    }
    scripts.sort();
    Ok(scripts)
}

fn collect(folder: &Path, scripts: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_script =
            path.extension().is_some_and(|extension| extension == "sh") || path.ends_with(".ci/run");
        match path.is_dir() {
            true if path.ends_with("node_modules") => {}
            true => collect(&path, scripts)?,
            false => scripts.extend(iter::once(path).filter(|_| is_script)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found() {
        let scripts = scripts().unwrap();
        assert!(scripts.iter().any(|script| script.ends_with(".ci/run")), "{scripts:?}");
        assert!(scripts.iter().any(|script| script.ends_with("build-native.sh")), "{scripts:?}");
    }
}
