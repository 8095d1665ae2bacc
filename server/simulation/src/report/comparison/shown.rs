use super::{Comparison, Measure, VariantSummary};
use crate::report::{
    quantity::Unit,
    tables::{self, NOTHING},
};

/// The result of a variant, formatted for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The variant's name.
    pub variant: String,
    /// The final value of the metric.
    pub final_metric: String,
    /// The difference to the baseline.
    pub difference: String,
    /// The best value of the metric.
    pub best_metric: String,
    /// The mean of the clients' own values of the metric.
    pub client_mean: String,
    /// The mean over the tenth of the clients with the worst values.
    pub worst_tenth: String,
    /// The mean over the tenth of the clients with the best values.
    pub best_tenth: String,
    /// The standard deviation of the clients' own values.
    pub client_deviation: String,
    /// True if no other variant is better both on average and for the worst clients.
    pub pareto_optimal: String,
    /// The round in which the target was reached.
    pub rounds_to_target: String,
    /// The virtual time until the target was reached.
    pub time_to_target: String,
    /// The traffic until the target was reached.
    pub traffic_to_target: String,
    /// The virtual time of the whole run.
    pub virtual_time: String,
    /// The bytes sent to a client.
    pub down_per_client: String,
    /// The bytes sent from a client.
    pub up_per_client: String,
    /// The number of committed rounds.
    pub committed: String,
    /// The number of abandoned rounds.
    pub abandoned: String,
    /// The share of the drawn clients that dropped out.
    pub dropped: String,
    /// The number of seeds with which the task was paused.
    pub paused: String,
}

impl Comparison {
    /// Formats the results of all variants. With several seeds, a value is a mean and the half-width of its interval.
    pub fn shown(&self) -> Vec<Shown> {
        self.summaries().iter().map(|summary| self.shown_one(summary)).collect()
    }

    /// Formats the target; `None` if there is none.
    pub fn target_shown(&self) -> Option<String> {
        Some(tables::show(&self.metric, self.target()?))
    }

    fn shown_one(&self, summary: &VariantSummary) -> Shown {
        // A share is shown in percent, and a difference of shares in percentage points.
        let (size, percent, points) =
            if self.metric.is_share { (0.01, "%", "points") } else { (1.0, "", "") };
        let difference = match &summary.difference {
            Some(difference) => {
                let sign = if difference.mean.is_some_and(|mean| mean > 0.0) { "+" } else { "" };
                difference.show(size, points).map(|shown| format!("{sign}{shown}"))
            }
            None => Some("baseline".to_owned()),
        };
        let or_nothing = |shown: Option<String>| shown.unwrap_or_else(|| NOTHING.to_owned());
        let metric = |measure: &Measure| or_nothing(measure.show(size, percent));
        let count = |measure: &Measure| or_nothing(measure.show(1.0, ""));
        let time = |measure: &Measure| or_nothing(in_unit(measure, Unit::of_time));
        let bytes = |measure: &Measure| or_nothing(in_unit(measure, Unit::of_bytes));
        let paused = summary.paused_seeds;
        Shown {
            variant: summary.variant.clone(),
            final_metric: metric(&summary.final_metric),
            difference: or_nothing(difference),
            best_metric: metric(&summary.best_metric),
            client_mean: metric(&summary.client_mean),
            worst_tenth: metric(&summary.worst_tenth),
            best_tenth: metric(&summary.best_tenth),
            client_deviation: or_nothing(summary.client_deviation.show(size, points)),
            pareto_optimal: or_nothing(
                summary.is_pareto_optimal.map(|is| if is { "yes" } else { "no" }.into()),
            ),
            rounds_to_target: count(&summary.rounds_to_target),
            time_to_target: time(&summary.seconds_to_target),
            traffic_to_target: bytes(&summary.bytes_to_target),
            virtual_time: time(&summary.virtual_seconds),
            down_per_client: bytes(&summary.bytes_down_per_client),
            up_per_client: bytes(&summary.bytes_up_per_client),
            committed: count(&summary.committed),
            abandoned: count(&summary.abandoned),
            dropped: or_nothing(summary.dropped_share.show(0.01, "%")),
            paused: format!("{paused} of {} seeds", self.seeds.len()),
        }
    }
}

/// Formats a mean and its half-width in the unit of the mean.
fn in_unit(measure: &Measure, unit: fn(f64) -> Unit) -> Option<String> {
    let unit = unit(measure.mean.unwrap_or_default());
    measure.show(unit.size, unit.name)
}
