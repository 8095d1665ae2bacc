//! Reports of one run or several as a single HTML file: plots, a summary and the settings.
//!
//! The file is self-contained: plots are inline SVG, there are no scripts, and the page loads no other files. It
//! follows the reader's choice of the light or dark theme, and prints in the light theme.

mod axis;
mod bars;
mod base;
mod charts;
mod colours;
mod comparison;
mod contributions;
mod document;
mod error;
mod fairness;
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

pub use comparison::{Comparison, LeftOut, Measure, SeedRun, Shown, Variant, VariantSummary};
pub use document::{Body, Curves, Document};
pub use error::ReportError;
pub use run::{Metric, Report, Run};
pub use summary::{Reached, Summary};

/// The maximum number of runs in one report, chosen so that readers can distinguish them.
pub const RUNS_MAX: usize = 16;

#[cfg(test)]
mod tests;
