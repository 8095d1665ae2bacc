//! Checks the lints and format of shell scripts, Kotlin, TypeScript and JavaScript, and a lock file. The Python linter runs in
//! the stage `python`, because it needs the environment of that stage.

mod kotlin;
mod shell;

use crate::outcome::{Outcome, Skipped};
use crate::process::{run as run_command, spelled};
use crate::wasm_package::tools;
use crate::workspace::{Failure, cargo, root};
use std::process::Command;

/// The folder whose npm packages include biome.
const PACKAGES: &str = "tests/browser";
/// The other workspace whose lock file is committed. It depends on packages of this workspace, so a new dependency here
/// changes its lock file, too.
const FUZZ_TARGETS: &str = "tests/fuzz/Cargo.toml";

/// The result of a linter that found nothing.
enum Linted {
    Passed,
    /// The named tool is missing.
    Missing(&'static str),
}

/// Runs a linter.
type Lint = fn() -> Result<Linted, Failure>;

/// Checks the lints and format of shell scripts, Kotlin, TypeScript and JavaScript, and checks that the lock file of the fuzz
/// targets is up to date.
///
/// # Errors
/// Fails if a linter finds a problem, if the lock file is outdated, or if a linter is missing on a build server.
pub fn test() -> Result<Outcome, Failure> {
    call(&mut cargo(&["update", "--quiet", "--workspace", "--locked", "--manifest-path", FUZZ_TARGETS]))?;
    let linters: [(&str, Lint); 3] =
        [("shell scripts", shell::lint), ("Kotlin", kotlin::lint), ("TypeScript and JavaScript", biome)];
    let mut outcome = Outcome::done();
    for (name, lint) in linters {
        if let Linted::Missing(tool) = lint()? {
            let why = format!("{tool} is missing. Run `cargo xtask test --only install`");
            outcome.skipped.push(Skipped { name: name.to_owned(), why });
        }
    }
    outcome.complete()
}

fn biome() -> Result<Linted, Failure> {
    if !tools::has_node() {
        return Ok(Linted::Missing("Node.js"));
    }
    tools::install_packages(&root().join(PACKAGES))?;
    let mut biome = Command::new(tools::node_for_browsers()?);
    biome.arg(root().join(PACKAGES).join("node_modules/@biomejs/biome/bin/biome"));
    call(biome.args(["check", "--error-on-warnings", "."]))?;
    Ok(Linted::Passed)
}

fn call(command: &mut Command) -> Result<(), Failure> {
    println!("xtask: lint: {}", spelled(command));
    run_command(command.current_dir(root()))
}

/// Checks the format of files. If it fails, the reason ends with the command line that formats files.
fn check_format(check: &mut Command, format: &str) -> Result<(), Failure> {
    call(check).map_err(|failure| Failure(format!("{failure}. To format a file, run `{format} FILE`")))
}
