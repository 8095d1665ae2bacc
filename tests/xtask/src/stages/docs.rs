//! Builds the documentation site, checks its links, and looks at some of its pages in headless Chromium.

use super::browser;
use crate::docs;
use crate::outcome::{Outcome, Skipped};
use crate::process::{run_reading, spelled};
use crate::wasm_package::tools;
use crate::workspace::{Failure, root};

/// Builds the site and runs its tests. Without Node.js or Chromium, only the build is checked.
///
/// # Errors
/// Fails if the site cannot be built, a page is not accessible, or a tool is missing on a build server.
pub fn test() -> Result<Outcome, Failure> {
    let site = docs::build(&docs::built_program()?)?;
    let mut outcome = Outcome::done();
    if !tools::has_node() || !browser::has_chromium() {
        let why = "Node.js or Chromium is missing. Run `cargo xtask test --only install`".to_owned();
        outcome.skipped.push(Skipped { name: "pages of the documentation".to_owned(), why });
        return outcome.complete();
    }
    tools::install_packages(&root().join(browser::FOLDER))?;
    let mut test = browser::node(&["--test", "--test-reporter=spec", "docs.mjs"])?;
    test.env("FOLKMOOT_SITE", site);
    println!("xtask: docs: {}", spelled(&test));
    run_reading(&mut test, |line| outcome.add(browser::tested(line)))?;
    outcome.complete()
}
