//! Where the workspace is, and how other programs are started in it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fmt};

/// Why a command did not succeed, in words for the person who ran it.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns the folder of the workspace.
///
/// Asked when the command runs, not when it is compiled: two checkouts that share a target folder
/// share this program too, and `env!` would lead both into the one that compiled it.
pub fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let mut root = PathBuf::from(package);
    root.pop();
    root.pop();
    root
}

/// Returns the folder of what cargo builds.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// Prepares a call of cargo at the workspace's root, with the target folder the caller has.
///
/// What `cargo run` told this program about itself is taken out: build scripts watch some of those
/// variables, and would run again.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| describes_this_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

fn describes_this_package(variable: &str) -> bool {
    const PREFIXES: [&str; 3] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    const NAMES: [&str; 3] = ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix)) || NAMES.contains(&variable)
}

/// Writes a command as one would type it.
pub fn spelled(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end, with its output where ours goes.
///
/// # Errors
/// Returns what was run and how it ended, if it could not start or did not succeed.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status =
        command.status().map_err(|error| Failure(format!("`{}` cannot start: {error}", spelled(command))))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure(format!("`{}` ended with {status}", spelled(command))))
    }
}

/// Tells whether a command can be run and succeeds, and shows nothing of it.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn a_failing_program_is_a_failure_that_names_it() {
        let failure = run(Command::new("rustc").arg("--no-such-flag").stderr(Stdio::null())).unwrap_err();
        assert!(failure.0.starts_with("`rustc --no-such-flag` ended with"), "{failure}");
        assert!(run(&mut Command::new("no-such-program")).unwrap_err().0.contains("cannot start"));
    }

    #[test]
    fn only_what_describes_this_package_is_taken_out() {
        assert!(describes_this_package("CARGO_PKG_NAME") && describes_this_package("CARGO_MANIFEST_DIR"));
        assert!(!describes_this_package("CARGO_TARGET_DIR") && !describes_this_package("CARGO_HOME"));
    }
}
