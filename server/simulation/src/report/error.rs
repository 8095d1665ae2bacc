use super::RUNS_MAX;

/// A report that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There are no runs, or more than can be told apart.
    #[error("{runs} runs were given; a report shows 1 to {RUNS_MAX} runs")]
    RunCount {
        /// The number of runs that were given.
        runs: usize,
    },
    /// A plot cannot be drawn.
    #[error("a plot cannot be drawn: {0}")]
    Plot(String),
}
