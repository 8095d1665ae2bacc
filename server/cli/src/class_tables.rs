//! Tables of a classifier's predictions.

use folkmoot_protocol::ClassReport;

use crate::output::{or_dash, table};

/// The maximum number of classes that a terminal shows.
const CLASSES_SHOWN: usize = 32;

/// Returns the table of the classes and the confusion matrix, each after an empty line. Above 32 classes, points to
/// `--json` instead.
pub fn class_tables(report: &ClassReport) -> String {
    if report.classes.len() > CLASSES_SHOWN {
        return format!("\n\n{} classes; --json lists them", report.classes.len());
    }
    let tables = [class_table(report), confusion(report)];
    tables.into_iter().flatten().map(|table| format!("\n\n{table}")).collect()
}

/// Formats a metric with four decimal places; `-` if there is none.
pub fn number(value: Option<f64>) -> String {
    or_dash(value.map(|value| format!("{value:.4}")))
}

fn class_table(report: &ClassReport) -> Option<String> {
    let rows = report.classes.iter().map(|class| {
        [
            class.class.to_string(),
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
fn confusion(report: &ClassReport) -> Option<String> {
    let width = report.confusion.iter().flatten().max()?.to_string().len();
    let width = width.max(report.confusion.len().to_string().len());
    let line = |name: String, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
        format!("{name:<5}  {}", cells.join(" "))
    };
    let heading = line("LABEL".into(), (0..report.confusion.len()).map(|class| class.to_string()).collect());
    let rows = report
        .confusion
        .iter()
        .enumerate()
        .map(|(class, row)| line(class.to_string(), row.iter().map(u64::to_string).collect()));
    let lines: Vec<String> = [heading].into_iter().chain(rows).collect();
    Some(format!("labels by predicted class\n{}", lines.join("\n")))
}
