//! The stages of `cargo xtask test`, in their order.
//!
//! All of them use the profile `dev`, and all that compile name the whole workspace and all its
//! targets: the set of features is then one and the same, and nothing is compiled twice. (Clippy
//! keeps its own results beside: it checks, and makes no code.)

use crate::workspace::{Failure, cargo, run, spelled};
use crate::{browser, console, fuzz, install, kotlin, languages, mobile, python, vulkan, wheel};
use clap::ValueEnum;
use std::process::Command;

/// Tells the tests to leave out what takes minutes.
pub const QUICK_VARIABLE: &str = "FOLKMOOT_TEST_QUICK";

/// One step, that succeeds or ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Installs what the tests need and is missing
    Install,
    /// Checks the format
    Fmt,
    /// Checks and builds the admin console, which the server then has in it
    Console,
    /// Lints; a warning is an error
    Clippy,
    /// Builds everything, also the `folkmoot` program that end-to-end tests start and kill
    Build,
    /// Runs every test
    Test,
    /// Builds the browser package, checks its size, and tests it and the console in headless Chromium
    Browser,
    /// Builds the wheel for Python, and tests it against a coordinator
    Python,
    /// Builds the package for Kotlin, and tests it on the JVM against a coordinator
    Kotlin,
    /// Has a page, a Kotlin, a Python and a native client take part in the same rounds
    Languages,
    /// Compiles the client for iOS and Android as static libraries
    Mobile,
    /// Builds a coordinator that can be broken on purpose, and looks whether audits find it
    Audit,
    /// Looks for bytes that a decoder cannot bear, some seconds for each fuzz target
    Fuzz,
}

impl Stage {
    /// Returns the name used for `--only` and in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Fmt => "fmt",
            Self::Console => "console",
            Self::Clippy => "clippy",
            Self::Build => "build",
            Self::Test => "test",
            Self::Browser => "browser",
            Self::Python => "python",
            Self::Kotlin => "kotlin",
            Self::Languages => "languages",
            Self::Mobile => "mobile",
            Self::Audit => "audit",
            Self::Fuzz => "fuzz",
        }
    }

    /// Runs the stage to its end.
    ///
    /// # Errors
    /// Returns why the stage did not succeed.
    pub fn run(self, quick: bool) -> Result<(), Failure> {
        if quick && matches!(self, Self::Mobile | Self::Audit | Self::Fuzz) {
            println!("xtask: {}: left out by --quick, for it builds some packages once more", self.name());
            return Ok(());
        }
        match self {
            Self::Install => install::run(),
            Self::Console => console::test(),
            Self::Browser => browser::run(quick),
            Self::Python => wheel::test(),
            Self::Kotlin => kotlin::test(),
            Self::Languages => languages::test(),
            Self::Mobile => mobile::test(),
            Self::Fuzz => fuzz::run(&fuzz::Arguments::briefly()),
            Self::Fmt | Self::Clippy | Self::Build | Self::Test | Self::Audit => self.run_cargo(quick),
        }
    }

    fn run_cargo(self, quick: bool) -> Result<(), Failure> {
        let Some(mut command) = self.command(quick) else { return Ok(()) };
        if self == Self::Test {
            vulkan::prepare(&mut command)?;
        }
        println!("xtask: {}: {}", self.name(), spelled(&command));
        run(&mut command)
    }

    /// Returns the call of cargo that the stage consists of, if it is one.
    fn command(self, quick: bool) -> Option<Command> {
        let mut command = match self {
            Self::Fmt => cargo(&["fmt", "--all", "--check"]),
            Self::Clippy => cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
            // `-p folkmoot-server` would build with fewer features than the tests, and so twice.
            Self::Build => cargo(&["build", "--workspace", "--all-targets"]),
            Self::Test => cargo(&["test", "--workspace", "--no-fail-fast"]),
            Self::Audit => {
                let feature = "folkmoot-server/dangerous-sabotage";
                let test = ["--test", "private", "broken_builds_are_found"];
                let mut command = cargo(&["test", "--workspace", "--features", feature]);
                command.args(test);
                command
            }
            _ => return None,
        };
        if let (Self::Test, Some(python)) = (self, python::interpreter()) {
            command.env(python::VARIABLE, python);
        }
        if quick {
            command.env(QUICK_VARIABLE, "1");
        }
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_command_line_takes() {
        for stage in Stage::value_variants() {
            assert_eq!(Stage::from_str(stage.name(), false), Ok(*stage));
        }
    }

    #[test]
    fn quick_reaches_the_tests() {
        let is_quick = |quick| {
            let command = Stage::Test.command(quick).expect("testing is a call of cargo");
            command.get_envs().any(|(name, value)| name == QUICK_VARIABLE && value.is_some())
        };
        assert!(is_quick(true) && !is_quick(false));
    }
}
