//! `folkmoot demo`: a coordinator and its clients on this machine, over real HTTPS, from the first enrolment to a
//! trained model.
//!
//! `run` is the story; `control` is the operator, `clients` are the devices, `follow` watches, `screen` shows.
//! `browser` is the same with a page that takes part.
//! Nothing here takes a short cut past the wire: what works here works between machines.

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

pub use args::Args;
pub use error::DemoError;
pub use first_run::first_run;

/// Runs the demo, with a page if so wanted.
///
/// # Errors
/// [`DemoError`] says why it ends without its results.
pub async fn run(args: Args) -> Result<(), DemoError> {
    match args.browser {
        true => Box::pin(browser::run(args)).await,
        false => Box::pin(run::run(args)).await,
    }
}
