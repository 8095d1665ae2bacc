//! The workspace's folders, files in them, and calls of cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fmt, fs};

/// The reason why a command failed, as a message for its user.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns the folder of the workspace.
///
/// Reads the variable at run time, not at compile time. Two checkouts with one target folder share
/// this program, and `env!` would always name the checkout that compiled it.
pub fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let mut root = PathBuf::from(package);
    root.pop();
    root.pop();
    root
}

/// Returns cargo's target folder.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// Prepares a call of cargo at the workspace's root, with the caller's target folder.
///
/// Removes the variables that `cargo run` set for this program. Build scripts watch some of them and
/// would run again.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_own_package(&mut command);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// Prepares the debug build of the program, the mobile library and its generator. All stages that need one of them use these arguments, so
/// that nothing is compiled twice. `--test tidy` is only there so that cargo selects the same features as for all targets.
pub fn cargo_build_of_packages() -> Command {
    let mut build = cargo(&["build", "--locked", "--workspace", "--lib", "--test", "tidy"]);
    build.args(["--bin", "uniffi-bindgen", "--bin", "folkmoot"]);
    build
}

/// Returns the target triple of this machine.
///
/// # Errors
/// Fails if the compiler cannot say it.
pub fn host() -> Result<String, Failure> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|error| Failure(format!("`rustc -vV` cannot start: {error}")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure("`rustc -vV` names no host".to_owned()))
}

/// Returns a failure to read or write a file.
pub fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

/// Creates an empty folder, in place of the one of an earlier run.
///
/// # Errors
/// Names the folder that cannot be deleted or created.
pub fn empty(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failure(folder, &error)),
        _ => {}
    }
    fs::create_dir_all(folder).map_err(|error| failure(folder, &error))
}

/// Writes a file, and creates the folders above it.
///
/// # Errors
/// Names the file that cannot be written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, content));
    written.map_err(|error| failure(path, &error))
}

/// Reads a text.
///
/// # Errors
/// Names the file that cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| failure(path, &error))
}

/// Returns the paths of all files in a folder and its subfolders, relative to the folder, sorted by folder and name. Slashes
/// separate their parts on every system.
///
/// # Errors
/// Names the folder that cannot be read.
pub fn files(folder: &Path) -> Result<Vec<String>, Failure> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|error| failure(&next, &error))?.flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path.strip_prefix(folder).unwrap_or(&path).to_owned()),
            }
        }
    }
    files.sort();
    Ok(files.iter().map(|file| file.to_string_lossy().replace('\\', "/")).collect())
}

/// Removes the variables that `cargo run` set for this program from a command's environment.
pub fn forget_own_package(command: &mut Command) {
    for (name, _) in env::vars_os().filter(|(name, _)| describes_this_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

fn describes_this_package(variable: &str) -> bool {
    const PREFIXES: [&str; 3] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    const NAMES: [&str; 3] = ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix)) || NAMES.contains(&variable)
}

/// Returns `true` on a build server, which must have every tool and may skip nothing.
pub fn is_build_server() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn only_what_describes_this_package_is_taken_out() {
        assert!(describes_this_package("CARGO_PKG_NAME") && describes_this_package("CARGO_MANIFEST_DIR"));
        assert!(!describes_this_package("CARGO_TARGET_DIR") && !describes_this_package("CARGO_HOME"));
    }
}
