use super::RUNS_MAX;

/// A report that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The number of runs is 0, or larger than readers can distinguish.
    #[error("{runs} runs were given; a report shows 1 to {RUNS_MAX} runs")]
    RunCount {
        /// The number of runs that were given.
        runs: usize,
    },
    /// A plot cannot be drawn.
    #[error("a plot cannot be drawn: {0}")]
    Plot(String),
}
