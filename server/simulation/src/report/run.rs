use crate::record::RoundRow;

/// What a report is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// A line below the title, such as what was compared.
    pub subtitle: Option<String>,
    /// What is measured on the held-out examples.
    pub metric: Metric,
    /// A value of the metric; the summary says when each run first reached it.
    pub target: Option<f64>,
    /// The runs, 1 to [`super::RUNS_MAX`].
    pub runs: Vec<Run>,
}

/// One simulation that was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// A name that tells it from the others.
    pub name: String,
    /// Its settings, in the order in which they are to be shown.
    pub settings: Vec<(String, String)>,
    /// Its rounds, in order.
    pub rounds: Vec<RoundRow>,
}

/// What [`RoundRow::held_out_metric`] means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name: "accuracy".
    pub name: String,
    /// Whether it is a share from 0 to 1, and shown in percent.
    pub is_share: bool,
    /// Whether more of it is better.
    pub is_larger_better: bool,
}

impl Default for Metric {
    /// The accuracy.
    fn default() -> Self {
        Self { name: "accuracy".to_owned(), is_share: true, is_larger_better: true }
    }
}
