//! Finds the test programs of the workspace.

use crate::process::spelled;
use crate::workspace::{Failure, cargo};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The name of the package, followed by the target if it is not the library.
    pub name: String,
    pub executable: PathBuf,
    /// The package's folder, in which cargo runs the program.
    pub folder: PathBuf,
    /// The arguments that make cargo run only this program.
    pub selection: String,
}

/// Builds all test programs of the workspace, and returns them in a fixed order.
///
/// # Errors
/// Fails if cargo fails.
pub fn programs() -> Result<Vec<Program>, Failure> {
    let mut command = cargo(&[
        "test",
        "--locked",
        "--workspace",
        "--no-run",
        "--message-format",
        "json-render-diagnostics",
    ]);
    println!("xtask: test: {}", spelled(&command));
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure(format!("`{}` cannot start: {error}", spelled(&command))))?;
    if !output.status.success() {
        return Err(Failure(format!("`{}` ended with {}", spelled(&command), output.status)));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Parses one message of cargo. Returns `None` unless it is about a test program.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message.pointer("/profile/test")?.as_bool() != Some(true) {
        return None;
    }
    let executable = PathBuf::from(message.get("executable")?.as_str()?);
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_owned();
    let target = message.pointer("/target/name")?.as_str()?;
    let kind = message.pointer("/target/kind/0")?.as_str()?;
    let package = package_name(message.get("package_id")?.as_str()?);
    let (name, selection) = match kind {
        "test" | "bin" | "example" => {
            (format!("{package} {target}"), format!("-p {package} --{kind} {target}"))
        }
        _ => (package.to_owned(), format!("-p {package} --lib")),
    };
    Some(Program { name, executable, folder, selection })
}

/// Returns the package name in `path+file:///a/folkmoot-b#0.1.0` or `path+file:///a/b#folkmoot-b@0.1.0`.
fn package_name(id: &str) -> &str {
    let (path, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_what_cargo_says() {
        let message = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///r/tests#folkmoot-tests@0.1.0",
                "manifest_path":"/r/tests/Cargo.toml","target":{{"kind":["{kind}"],"name":"e2e"}},
                "profile":{{"test":{test}}},"executable":"/t/e2e-1"}}"#
            )
        };
        let found = program(&message("test", true)).unwrap();
        assert_eq!((&*found.name, &*found.selection), ("folkmoot-tests e2e", "-p folkmoot-tests --test e2e"));
        assert_eq!(found.folder, Path::new("/r/tests"));
        assert_eq!(program(&message("lib", true)).unwrap().selection, "-p folkmoot-tests --lib");
        assert_eq!(program(&message("bin", false)), None);
        assert_eq!(program("Compiling"), None);
        assert_eq!(package_name("path+file:///r/folkmoot-a#0.1.0"), "folkmoot-a");
    }
}
