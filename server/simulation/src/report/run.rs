use crate::{contributions::Contributions, record::RoundRow};

/// The input of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The title of the report.
    pub title: String,
    /// A line below the title, for example a description of the comparison.
    pub subtitle: Option<String>,
    /// The metric that is measured on the held-out examples.
    pub metric: Metric,
    /// A value of the metric to reach; `None` for no target. The summary shows when each run first reached it.
    pub target: Option<f64>,
    /// The runs, 1 to [`super::RUNS_MAX`].
    pub runs: Vec<Run>,
}

/// One simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// A name that distinguishes the run from the others.
    pub name: String,
    /// The run's settings, in display order.
    pub settings: Vec<(String, String)>,
    /// The run's rounds, in order.
    pub rounds: Vec<RoundRow>,
    /// The metric of each client in the last version that was measured; empty if the clients do not measure.
    pub client_metrics: Vec<f64>,
    /// The contributions of the clients; `None` if they were not computed.
    pub contributions: Option<Contributions>,
}

/// The meaning of [`RoundRow::held_out_metric`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The metric's name, for example "accuracy".
    pub name: String,
    /// True if the metric is a share from 0 to 1, which is shown in percent.
    pub is_share: bool,
    /// True if larger values are better.
    pub is_larger_better: bool,
}

impl From<folkmoot_protocol::Metric> for Metric {
    fn from(metric: folkmoot_protocol::Metric) -> Self {
        Self {
            name: metric.name().into(),
            is_share: metric == folkmoot_protocol::Metric::Accuracy,
            is_larger_better: metric.is_higher_better(),
        }
    }
}

impl Default for Metric {
    /// Returns the accuracy, which is a share; larger values are better.
    fn default() -> Self {
        Self { name: "accuracy".to_owned(), is_share: true, is_larger_better: true }
    }
}

impl Metric {
    /// Returns the name of an axis for the metric, and the factor of its values: a share is shown in percent.
    pub(super) fn axis(&self) -> (String, f64) {
        let (unit, factor) = if self.is_share { (" [%]", 100.0) } else { ("", 1.0) };
        (format!("held-out {}{unit}", self.name), factor)
    }
}
