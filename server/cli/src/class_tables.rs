//! Tables of a classifier's predictions.

use folkmoot_protocol::ClassReport;

use crate::output::{or_dash, table};

/// The maximum number of classes that a terminal shows.
const CLASSES_SHOWN: usize = 32;

/// Returns the table of the classes and the confusion matrix, each after an empty line. Above 32 classes, points to
/// `--json` instead. Classes have these names, if there are any.
pub fn class_tables(report: &ClassReport, names: &[String]) -> String {
    if report.classes.len() > CLASSES_SHOWN {
        return format!("\n\n{} classes; --json lists them", report.classes.len());
    }
    let named = |class: u64| {
        let name = usize::try_from(class).ok().and_then(|class| names.get(class));
        name.map_or_else(|| class.to_string(), |name| format!("{class} {name}"))
    };
    let tables = [class_table(report, &named), confusion(report, &named)];
    tables.into_iter().flatten().map(|table| format!("\n\n{table}")).collect()
}

/// Formats a metric with four decimal places; `-` if there is none.
pub fn number(value: Option<f64>) -> String {
    or_dash(value.map(|value| format!("{value:.4}")))
}

fn class_table(report: &ClassReport, named: &dyn Fn(u64) -> String) -> Option<String> {
    let rows = report.classes.iter().map(|class| {
        [
            named(class.class),
            class.label_count.to_string(),
            class.predicted_count.to_string(),
            number(class.precision),
            number(class.recall),
            number(class.f1),
        ]
    });
    let heading = ["CLASS", "LABELS", "PREDICTED", "PRECISION", "RECALL", "F1"];
    (!report.classes.is_empty()).then(|| table(heading, rows))
}

/// Returns the confusion matrix with a row for each label and a column for each prediction.
fn confusion(report: &ClassReport, named: &dyn Fn(u64) -> String) -> Option<String> {
    let width = report.confusion.iter().flatten().max()?.to_string().len();
    let width = width.max(report.confusion.len().to_string().len());
    let labels: Vec<String> = (0..).take(report.confusion.len()).map(named).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).fold("LABEL".len(), usize::max);
    let line = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
        format!("{name:<label_width$}  {}", cells.join(" "))
    };
    let heading = line("LABEL", (0..report.confusion.len()).map(|class| class.to_string()).collect());
    let rows = labels
        .iter()
        .zip(&report.confusion)
        .map(|(label, row)| line(label, row.iter().map(u64::to_string).collect()));
    let lines: Vec<String> = [heading].into_iter().chain(rows).collect();
    Some(format!("labels by predicted class\n{}", lines.join("\n")))
}
