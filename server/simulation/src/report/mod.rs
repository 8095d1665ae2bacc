//! Reports of one run or several as a single HTML file: plots, a summary and the settings.
//!
//! The file is self-contained: plots are inline SVG, there are no scripts, and nothing is fetched. It follows the
//! reader's choice of light or dark, and prints in light.

mod axis;
mod charts;
mod colours;
mod error;
mod figure;
mod html;
mod legend;
mod page;
mod plot;
mod quantity;
mod run;
mod summary;
mod tables;
mod thin;

pub use error::ReportError;
pub use run::{Metric, Report, Run};
pub use summary::{Reached, Summary};

/// The maximum number of runs of one report: as many as readers can tell apart.
pub const RUNS_MAX: usize = 16;

#[cfg(test)]
mod tests;
