#![doc = include_str!("../README.md")]
#![allow(rustdoc::bare_urls, reason = "doc comments of options are help texts for a terminal")]

mod args;
mod browser;
mod chart;
mod clients;
mod control;
mod curve;
mod data;
mod error;
mod evaluate;
mod first_run;
mod follow;
mod output;
mod partition;
mod plan;
mod report;
mod run;
mod screen;
mod traffic;
mod vanish;

pub use args::Args;
pub use error::DemoError;
pub use first_run::first_run;

/// Runs the demo, with a web page if `--browser` is set.
///
/// # Errors
/// [`DemoError`] if the demo ends without its results.
pub async fn run(args: Args) -> Result<(), DemoError> {
    match args.browser {
        true => Box::pin(browser::run(args)).await,
        false => Box::pin(run::run(args)).await,
    }
}
