//! Experiments in which clients do not all predict with one model, on their own held-out examples.

pub mod clustered;
pub mod parts;

use super::{
    finding::Finding,
    plot::{Panel, Plot},
    series::Series,
};

/// The title of the table of an experiment's methods.
const TITLE: &str = "Accuracy on each client's own held-out data, mean over the last tenth of the rounds";

/// Returns a finding with the accuracies in these panels. It has no claims and no tables yet.
fn of_own_accuracies(
    (name, title, source): (&'static str, &'static str, &'static str),
    setting: String,
    series: Vec<Series>,
    panels: Vec<Panel>,
) -> Finding {
    Finding {
        name,
        title,
        source,
        setting,
        target: None,
        claims: Vec::new(),
        tables: Vec::new(),
        notes: Vec::new(),
        plot: Plot {
            x: "round",
            y: "accuracy on own held-out data",
            is_share: true,
            panels,
            ..Plot::default()
        },
        series,
    }
}
