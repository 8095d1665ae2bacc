//! The texts that humans read, in a terminal or not.

use indicatif::DecimalBytes;

use super::{Files, Serving, Started};
use crate::cli::demo::{
    curve::accuracy_curve,
    report::{Report, RoundReport},
};

/// Says what is about to happen.
pub fn started(started: &Started) -> Vec<String> {
    let settings = &started.settings;
    let mut lines = vec![format!("The coordinator serves at {} (TLS, on this machine only).", started.url)];
    if let Some(certificate) = &started.root_certificate {
        lines.push(format!("Its certificate is vouched for by {}.", certificate));
    }
    lines.push(format!("This run has a fresh data folder: {}.", started.run));
    lines.push(format!(
        "{} clients are enrolled; they hold {} digits, split with alpha = {}. Each round draws {} of them.",
        settings.clients, started.examples, settings.alpha, settings.cohort
    ));
    lines.push(String::new());
    lines
}

/// Returns what a round came to, in columns.
pub fn round(report: &RoundReport) -> String {
    format!(
        "{:>3} of {} reports  {:>10} up  {:>10} down  loss {:>6.4}  accuracy {:>5.1} %  {:>5.2} s",
        report.reports,
        report.cohort,
        DecimalBytes(report.bytes_up).to_string(),
        DecimalBytes(report.bytes_down).to_string(),
        report.loss,
        100.0 * report.accuracy,
        report.seconds
    )
}

/// Returns `round  3/30`, as wide in every round.
pub fn round_name(round: u64, rounds: u32) -> String {
    let width = rounds.to_string().len();
    format!("round {round:>width$}/{rounds}")
}

/// Sums up: a table and the curve.
pub fn finished(report: &Report, files: &Files) -> Vec<String> {
    let reports: u64 = report.per_round.iter().map(|round| round.reports).sum();
    let rows = [
        (
            "held-out accuracy",
            format!("{:.1} % of {} examples", 100.0 * report.accuracy, report.held_out_examples),
        ),
        ("before training", format!("{:.1} %", 100.0 * report.initial_accuracy)),
        ("rounds", format!("{} in {:.1} s", report.rounds, report.seconds)),
        ("updates combined", reports.to_string()),
        ("sent by clients", DecimalBytes(report.bytes_up).to_string()),
        ("fetched by clients", DecimalBytes(report.bytes_down).to_string()),
        ("model", files.model.clone()),
        ("report", files.report.clone()),
        ("chart", files.chart.clone()),
        ("data of this run", files.run.clone()),
    ];
    let mut lines = vec![String::new()];
    lines.extend(accuracy_curve(&report.accuracies()));
    lines.push(String::new());
    lines.extend(table(&rows));
    lines
}

/// Says how to reach a coordinator that stays open, in the shell's words.
pub fn serving(serving: &Serving) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "The coordinator and its clients stay open until ctrl-c. In another terminal:".to_owned(),
        format!("  export FOLKMOOT_URL={}", serving.url),
    ];
    lines.extend(serving.root_certificate.iter().map(|path| format!("  export FOLKMOOT_CA={path}")));
    lines.extend(serving.api_key.iter().map(|key| format!("  export FOLKMOOT_API_KEY={key}")));
    lines.push("  folkmoot task list".to_owned());
    lines
}

/// Frames two columns.
fn table(rows: &[(&str, String)]) -> Vec<String> {
    let width =
        |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let left = width(&mut rows.iter().map(|(name, _)| *name));
    let right = width(&mut rows.iter().map(|(_, value)| value.as_str()));
    let edge = |start: char, middle: char, end: char| {
        format!("{start}{}{middle}{}{end}", "─".repeat(left + 2), "─".repeat(right + 2))
    };
    let mut lines = vec![edge('┌', '┬', '┐')];
    lines.extend(rows.iter().map(|(name, value)| format!("│ {name:<left$} │ {value:<right$} │")));
    lines.push(edge('└', '┴', '┘'));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo::report::test_report;

    #[test]
    fn rounds_stand_in_columns() {
        let report = test_report(&[0.05, 1.0]);
        let widths: Vec<usize> =
            report.per_round.iter().map(|report| round(report).chars().count()).collect();
        assert_eq!(widths[0], widths[1]);
        assert_eq!(round_name(3, 30).len(), round_name(30, 30).len());
    }

    #[test]
    fn a_table_is_as_wide_in_every_line() {
        let lines = table(&[("a", "größer".into()), ("longer", "b".into())]);
        let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        assert!(lines.len() == 4 && widths.iter().all(|width| *width == widths[0]), "{lines:#?}");
    }
}
