//! The stages of `cargo xtask test`, in their order.

use super::rust;
use crate::install;
use crate::outcome::Outcome;
use crate::stages::{browser, console, contract, fuzz, kotlin, languages, lint, mobile, swift, wheel};
use crate::workspace::Failure;
use clap::ValueEnum;

/// One step, that succeeds or ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Installs what the tests need and is missing
    Install,
    /// Checks the format
    Fmt,
    /// Lints shell scripts, and lints and formats TypeScript and JavaScript
    Lint,
    /// Checks the admin console, and that its built files are those of its sources
    Console,
    /// Lints; a warning is an error
    Clippy,
    /// Builds the API documentation; a warning is an error
    Doc,
    /// Builds everything, also the `folkmoot` program that end-to-end tests start and kill
    Build,
    /// Runs every test
    Test,
    /// Builds the browser package, checks its size, and tests it and the console in headless Chromium
    Browser,
    /// Compares a running coordinator with the description of its API
    Contract,
    /// Builds the wheel for Python, and tests it against a coordinator
    Python,
    /// Builds the package for Kotlin, and tests it on the JVM against a coordinator
    Kotlin,
    /// Compiles the package for Swift, and tests it on Linux against a coordinator
    Swift,
    /// Has a page, a Kotlin, a Python and a native client take part in the same rounds
    Languages,
    /// Type-checks the client for iOS and Android
    Mobile,
    /// Looks for bytes that a decoder cannot bear, some seconds for each fuzz target
    Fuzz,
}

impl Stage {
    /// Returns the name used for `--only` and in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Fmt => "fmt",
            Self::Lint => "lint",
            Self::Console => "console",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Build => "build",
            Self::Test => "test",
            Self::Browser => "browser",
            Self::Contract => "contract",
            Self::Python => "python",
            Self::Kotlin => "kotlin",
            Self::Swift => "swift",
            Self::Languages => "languages",
            Self::Mobile => "mobile",
            Self::Fuzz => "fuzz",
        }
    }

    /// Runs the stage to its end.
    ///
    /// # Errors
    /// Returns why the stage did not succeed.
    pub fn run(self, quick: bool) -> Result<Outcome, Failure> {
        if quick && matches!(self, Self::Doc | Self::Mobile | Self::Fuzz) {
            return Ok(Outcome { left_out: Some("--quick".to_owned()), ..Outcome::done() });
        }
        match self {
            Self::Install => install::run(),
            Self::Fmt => rust::fmt(),
            Self::Lint => lint::test(),
            Self::Console => console::test(),
            Self::Clippy => rust::clippy(),
            Self::Doc => rust::doc(),
            Self::Build => rust::build(),
            Self::Test => rust::test(quick),
            Self::Browser => browser::run(),
            Self::Contract => contract::test(),
            Self::Python => wheel::test(),
            Self::Kotlin => kotlin::test(),
            Self::Swift => swift::test(),
            Self::Languages => languages::test(),
            Self::Mobile => mobile::test(),
            Self::Fuzz => fuzz::run(&fuzz::Arguments::briefly()).map(|()| Outcome::done()),
        }
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
}
