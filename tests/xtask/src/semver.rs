//! `cargo xtask semver`: finds changes in the API of the Rust libraries that their version does not allow.

use crate::cargo_program::cargo_program;
use crate::process::{run as run_command, spelled};
use crate::workspace::{Failure, forget_own_package, is_build_server, root, target};
use clap::Args;
use std::process::Command;

const PROGRAM: &str = "cargo-semver-checks";
const VERSION: &str = "0.51.0";
/// The libraries that apps and tools use. Their types are those of `folkmoot-client` and of the administrative API; a
/// name that one of them only passes on is compared in the library that declares it.
const LIBRARIES: [&str; 6] = [
    "folkmoot-client",
    "folkmoot-engine",
    "folkmoot-protocol",
    "folkmoot-training",
    "folkmoot-work",
    "folkmoot-api",
];

/// Options for the comparison.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The revision to compare with. The default is the newest tag before this commit that begins with `v`
    #[arg(long, value_name = "REVISION")]
    baseline: Option<String>,
}

/// Compares the libraries with those of another revision.
///
/// # Errors
/// Fails if a change needs a higher version, if the comparison cannot run, or on a build server if its program cannot be
/// installed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(baseline) = arguments.baseline.clone().map_or_else(last_release, |given| Ok(Some(given)))?
    else {
        println!(
            "xtask: semver: SKIPPED: no tag before this commit begins with `v`, so there is no release to compare \
             with. `--baseline REVISION` compares with any other revision"
        );
        return Ok(());
    };
    let program = match cargo_program(PROGRAM, PROGRAM, VERSION) {
        Ok(program) => program,
        Err(Failure(why)) if !is_build_server() => {
            println!("xtask: semver: SKIPPED: {PROGRAM} {VERSION} cannot be installed: {why}");
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    let mut compare = Command::new(program);
    forget_own_package(&mut compare);
    // Its results are in the target folder, beside those of other builds.
    compare.arg("semver-checks").args(["--baseline-rev", &baseline]).env("CARGO_TARGET_DIR", target());
    compare.args(LIBRARIES.iter().flat_map(|library| ["--package", library]));
    println!("xtask: semver: {}", spelled(&compare));
    run_command(compare.current_dir(root())).map_err(|_| {
        Failure(format!(
            "the API has changed since {baseline} more than the version says; see above. Keep what was there, or raise \
             the version of the workspace"
        ))
    })
}

/// Returns the newest tag of a release before this commit. `None` if the history, which must be complete, has none.
fn last_release() -> Result<Option<String>, Failure> {
    let git = |arguments: &[&str]| -> Result<Option<String>, Failure> {
        let said = Command::new("git").args(arguments).current_dir(root()).output();
        let said = said.map_err(|error| Failure(format!("git cannot be run: {error}")))?;
        Ok(said.status.success().then(|| String::from_utf8_lossy(&said.stdout).trim().to_owned()))
    };
    match git(&["rev-parse", "--is-shallow-repository"])?.as_deref() {
        Some("false") => git(&["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"]),
        Some(_) => Err(Failure(
            "the history is cut off, so the last release cannot be found; fetch all of it".into(),
        )),
        None => Err(Failure("git refuses to read this repository; run `git status` to see why".into())),
    }
}
