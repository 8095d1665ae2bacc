//! `cargo xtask docs`: builds the documentation site from `docs` with mdBook, and checks its links.
//!
//! The pages lie in `docs` as people read them in the repository. A copy of them is prepared for mdBook: links to files
//! outside `docs` lead to the repository, and the pages about commands, the configuration and the REST API are generated.
//!
//! - Copies: `sources` copies the pages and the theme, `links` rewrites links, `plots` draws marked tables, and `summary`
//!   makes the navigation.
//! - Generated pages: `cli` of the help texts that `help` reads, `configuration`, and `rest` of the API's description.
//! - `html` checks the built site, and `recording` records the demo.

mod cli;
mod configuration;
mod help;
mod html;
mod links;
mod plots;
mod recording;
mod rest;
mod sources;
mod summary;

use crate::cargo_program::cargo_program_with;
use crate::process::{run as run_command, spelled};
use crate::workspace::{Failure, cargo_build_of_packages, empty, failure, root, target};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

/// The version of mdBook. `docs/site/theme` replaces its page template, so look at the site after a change.
const MDBOOK_VERSION: &str = "0.5.4";
/// The folder of the pages, relative to the repository.
const PAGES: &str = "docs";
/// The folder of mdBook's configuration and of the theme.
const SITE: &str = "docs/site";
/// Files of mdBook that the theme does not use.
const UNUSED: [&str; 11] = [
    "toc.js",
    "toc.html",
    "searcher.js",
    "mark.min.js",
    "clipboard.min.js",
    "highlight.css",
    "tomorrow-night.css",
    "ayu-highlight.css",
    "css/chrome.css",
    "css/variables.css",
    ".nojekyll",
];

/// Options for building the site.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Describe the commands of this program, instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Also run the demo with this program and record it in docs/images/demo.svg
    #[arg(long)]
    record: bool,
}

/// Builds the site into the target folder and prints its path.
///
/// # Errors
/// Fails if a link is broken, a page is missing from the summary, or a program fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let program = match &arguments.program {
        // Some commands run in other folders.
        Some(program) => absolute(program).map_err(|error| failure(program, &error))?,
        None => built_program()?,
    };
    if arguments.record {
        recording::record(&program, &root().join(PAGES).join("images/demo.svg"))?;
    }
    let site = build(&program)?;
    println!("xtask: docs: open {}", site.join("index.html").display());
    Ok(())
}

/// Builds the debug program, unless it is up to date, and returns its path.
///
/// # Errors
/// Fails if the build fails.
pub fn built_program() -> Result<PathBuf, Failure> {
    let mut build = cargo_build_of_packages();
    println!("xtask: docs: {}", spelled(&build));
    run_command(&mut build)?;
    Ok(target().join("debug").join(format!("folkmoot{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns the path of mdBook. Installs it into the target folder if it is missing, without its server.
fn mdbook() -> Result<PathBuf, Failure> {
    let features = ["--no-default-features", "--features", "search"];
    cargo_program_with(&features, "mdbook", "mdbook", MDBOOK_VERSION)
}

/// Builds the site with a program whose commands it describes. Returns the site's folder.
///
/// # Errors
/// As for [`run`].
pub fn build(program: &Path) -> Result<PathBuf, Failure> {
    let (folder, site) = (target().join("site-source"), target().join("site"));
    let pages = folder.join("src");
    empty(&folder)?;
    sources::copy_folder(&root().join(SITE), &folder)?;
    sources::copy_pages(&root(), PAGES, &pages)?;
    cli::write(program, &pages.join("reference/cli"))?;
    configuration::write(program, &folder, &pages.join("reference/configuration.md"))?;
    rest::write(&root().join("server/api/openapi.json"), &pages.join("reference/rest"))?;
    summary::complete(&pages, &folder.join("theme/header.hbs"))?;

    let mdbook = mdbook()?;
    let mut book = Command::new(mdbook);
    book.arg("build").arg(&folder).arg("--dest-dir").arg(&site).env("MDBOOK_LOG", "warn");
    println!("xtask: docs: {}", spelled(&book));
    run_command(&mut book)?;
    for file in UNUSED {
        fs::remove_file(site.join(file)).map_err(|error| {
            Failure(format!("mdBook did not write {file}: {error}. Correct UNUSED in {}", file!()))
        })?;
    }
    html::mend_tables(&site)?;
    let pages = html::check(&site)?;
    println!("xtask: docs: {pages} pages, no broken link");
    Ok(site)
}
