use crate::record::RoundRow;

/// The input of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The title of the report.
    pub title: String,
    /// A line below the title, such as what was compared.
    pub subtitle: Option<String>,
    /// The metric that is measured on the held-out examples.
    pub metric: Metric,
    /// A value of the metric. The summary shows when each run first reached it.
    pub target: Option<f64>,
    /// The runs, 1 to [`super::RUNS_MAX`].
    pub runs: Vec<Run>,
}

/// One simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// A name that distinguishes the run from the others.
    pub name: String,
    /// Its settings, in the order in which to show them.
    pub settings: Vec<(String, String)>,
    /// Its rounds, in order.
    pub rounds: Vec<RoundRow>,
}

/// The meaning of [`RoundRow::held_out_metric`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The metric's name, for example "accuracy".
    pub name: String,
    /// Whether the metric is a share from 0 to 1, which is shown in percent.
    pub is_share: bool,
    /// Whether larger values are better.
    pub is_larger_better: bool,
}

impl Default for Metric {
    /// Returns the accuracy, as a share.
    fn default() -> Self {
        Self { name: "accuracy".to_owned(), is_share: true, is_larger_better: true }
    }
}
