//! The stages of `cargo xtask test`, in order.

use super::rust;
use crate::install;
use crate::outcome::Outcome;
use crate::release;
use crate::stages::{
    browser, console, contract, deny, deploy, docs, fuzz, kotlin, languages, lint, mobile, swift, wheel,
};
use crate::workspace::Failure;
use clap::ValueEnum;

/// One stage. If it fails, the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Installs missing tools that the tests need
    Install,
    /// Checks the format of the Rust sources
    Fmt,
    /// Checks the lints and format of shell scripts, Kotlin, TypeScript and JavaScript, and the lock file of the fuzz targets
    Lint,
    /// Checks the licences, bans, sources and security advisories of all dependencies
    Deny,
    /// Checks the files for deployment: alerts, dashboard, proxy, systemd unit, Compose file and Helm chart
    Deploy,
    /// Checks the admin console, and that its committed build matches its sources
    Console,
    /// Lints the Rust sources; a warning is an error
    Clippy,
    /// Builds the API documentation; a warning is an error
    Doc,
    /// Builds everything, including the `folkmoot` program that end-to-end tests start and kill
    Build,
    /// Runs every test
    Test,
    /// Builds the browser package, checks its size, and tests it and the console in headless Chromium
    Browser,
    /// Builds the documentation site, checks its links, and looks at its pages in headless Chromium
    Docs,
    /// Compares a running coordinator with the description of its API
    Contract,
    /// Builds the Python wheel, and tests it against a coordinator
    Python,
    /// Packs the program, installs the packages where nothing else is, and trains with each
    Packages,
    /// Builds the Kotlin package, and tests it on the JVM against a coordinator
    Kotlin,
    /// Compiles the Swift package, and tests it against a coordinator
    Swift,
    /// Runs a browser page and a Kotlin, a Python and a native client in the same rounds
    Languages,
    /// Type-checks the client for iOS and Android
    Mobile,
    /// Runs each fuzz target for some seconds, to find bytes that make a decoder panic or exceed its memory limit
    Fuzz,
}

impl Stage {
    /// Returns the name used for `--only` and in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Fmt => "fmt",
            Self::Lint => "lint",
            Self::Deny => "deny",
            Self::Deploy => "deploy",
            Self::Console => "console",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Build => "build",
            Self::Test => "test",
            Self::Browser => "browser",
            Self::Docs => "docs",
            Self::Contract => "contract",
            Self::Python => "python",
            Self::Packages => "packages",
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
    /// Returns the reason why the stage failed.
    pub fn run(self, quick: bool) -> Result<Outcome, Failure> {
        if quick && matches!(self, Self::Deny | Self::Doc | Self::Mobile | Self::Fuzz) {
            return Ok(Outcome { left_out: Some("--quick".to_owned()), ..Outcome::done() });
        }
        match self {
            Self::Install => install::run(),
            Self::Fmt => rust::fmt(),
            Self::Lint => lint::test(),
            Self::Deny => deny::test(),
            Self::Deploy => deploy::test(),
            Self::Console => console::test(),
            Self::Clippy => rust::clippy(),
            Self::Doc => rust::doc(),
            Self::Build => rust::build(),
            Self::Test => rust::test(quick),
            Self::Browser => browser::run(),
            Self::Docs => docs::test(),
            Self::Contract => contract::test(),
            Self::Python => wheel::test(),
            Self::Packages => release::test(),
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
