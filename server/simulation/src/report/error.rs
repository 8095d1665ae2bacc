use super::RUNS_MAX;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There are no runs, or more than can be told apart.
    #[error("a report is about 1 to {RUNS_MAX} runs, and {runs} were given; compare fewer at once")]
    RunCount {
        /// The runs given.
        runs: usize,
    },
    /// A plot cannot be drawn.
    #[error("a plot cannot be drawn: {0}")]
    Plot(String),
}
