//! The attack on a property, as a section of the page and as text.

use std::fmt::Write as _;

use folkmoot_simulation::report::{Body, Curves};

use super::{or_dash, percent};
use crate::{
    CannotAttack,
    property::{PropertyInference, PropertyView},
};

/// Renders the attack on a property: a table, and the curves.
pub(super) fn body(found: &PropertyInference) -> Result<Body, CannotAttack> {
    let mut body = Body::default();
    let headings = [
        "Area under the curve",
        "95 % interval",
        "Found at 1 % false alarms",
        "Clipping norm",
        "Noise multiplier",
        "Updates in a sum",
    ];
    let rows: Vec<(String, Vec<String>)> = found
        .views
        .iter()
        .map(|view| {
            let number = |number: Option<f64>| or_dash(number.map(|number| format!("{number:.4}")));
            let cells = vec![
                format!("{:.3}", view.roc.auc),
                interval(view),
                percent(view.roc.true_positives_at_1_percent),
                number(view.view.clipping_norm),
                number(view.view.noise_multiplier),
                or_dash(view.view.clients.map(|clients| clients.to_string())),
            ];
            (view.view.kind.name().to_owned(), cells)
        })
        .collect();
    body.table("View", &headings, &rows);
    body.note(&format!(
        "The property is: {}. A client with it has it in {} of {} examples, and a client without it in none. The attacker learned from {} \
         updates of its own half of the data, and guessed for {} updates of the other half. An area of 0.5 is chance. The interval counts \
         the victims, and takes the attacker's classifier as given.",
        found.property, found.with_property, found.examples, found.shadow_updates, found.victim_updates
    ));
    for view in &found.views {
        body.note(&view.view.description);
    }
    let mut lines: Vec<(String, Vec<(f64, f64)>)> =
        found.views.iter().map(|view| (view.view.kind.name().to_owned(), view.roc.points.clone())).collect();
    lines.push(("chance".to_owned(), vec![(0.0, 0.0), (1.0, 1.0)]));
    body.curves(&[Curves {
        title: "Clients with the property found over false alarms",
        x: "false positive rate",
        y: "true positive rate",
        end: 1.0,
        lines,
        note: None,
    }])?;
    Ok(body)
}

/// Formats the attack on a property for a terminal.
pub(super) fn text(found: &PropertyInference) -> String {
    let [area, interval_name, one] = ["area", "95 % interval", "found at 1 %"];
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<36} {area:>6} {interval_name:>18} {one:>14}",
        format!("property {}", found.property)
    );
    for view in &found.views {
        let _ = writeln!(
            text,
            "  {:<34} {:>6.3} {:>18} {:>14}",
            view.view.kind.name(),
            view.roc.auc,
            interval(view),
            percent(view.roc.true_positives_at_1_percent)
        );
    }
    text + "\n"
}

fn interval(view: &PropertyView) -> String {
    format!("{:.3} to {:.3}", view.auc_low, view.auc_high)
}
