//! The workspace's folders, and calls of cargo in them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fmt};

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
