//! The texts for humans.

use super::{Files, Serving, Started};
use crate::{
    curve::accuracy_curve,
    report::{Report, RoundReport},
    vanish::clients_of,
};

/// Returns the lines before the first round.
pub fn started(started: &Started) -> Vec<String> {
    let settings = &started.settings;
    let mut lines = vec![format!("The coordinator serves at {} (TLS, on this machine only).", started.url)];
    if let Some(certificate) = &started.root_certificate {
        lines.push(format!("Its root certificate is {}.", certificate));
    }
    lines.push(format!("The data of this run is in {}.", started.run));
    lines.push(format!(
        "{} clients are enrolled. They hold {} digits, split with alpha = {}. Each round selects {} of them.",
        settings.clients, started.examples, settings.alpha, settings.cohort
    ));
    if let Some(privacy) = settings.privacy {
        lines.push(format!(
            "Training is private: the task ends before it exceeds epsilon {} at delta {}.",
            privacy.epsilon, privacy.delta
        ));
    }
    if let Some(share) = settings.vanish {
        let vanishing = clients_of(share, settings.clients);
        lines.push(format!(
            "Once half of the rounds are over, {vanishing} clients vanish in the middle of a round."
        ));
    }
    lines.extend([String::new(), round_head(started.rounds, settings.privacy.is_some())]);
    lines
}

/// Returns the column headings for [`round`].
pub fn round_head(rounds: u32, is_private: bool) -> String {
    let name = format!("{:>width$}", "round", width = round_name(1, rounds).len());
    format!(
        "{name}  {:>8}  {:>8}  {:>8}  {:>7}  {:>8}  {:>7}",
        "reports",
        "sent",
        "received",
        if is_private { "epsilon" } else { "loss" },
        "accuracy",
        "time"
    )
}

/// Returns the result of a round in columns: reports of the cohort, bytes sent and received, training loss or
/// epsilon, held-out accuracy, and time.
pub fn round(report: &RoundReport, rounds: u32) -> String {
    let name = round_name(report.round, rounds);
    let reports = format!("{}/{}", report.reports, report.cohort);
    let (sent, fetched) = (bytes(report.bytes_up), bytes(report.bytes_down));
    let (accuracy, seconds) = (100.0 * report.accuracy, report.seconds);
    format!(
        "{name}  {reports:>8}  {sent:>8}  {fetched:>8}  {:>7.4}  {accuracy:>6.1} %  {seconds:>5.2} s",
        report.epsilon.or(report.loss).unwrap_or_default()
    )
}

/// Returns text such as ` 3/30`, which has the same width in every round and is at least as wide as its heading.
pub fn round_name(round: u64, rounds: u32) -> String {
    let width = rounds.to_string().len().max(2);
    format!("{:>5}", format!("{round:>width$}/{rounds}"))
}

/// Formats a number of bytes with about three digits.
fn bytes(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, "B");
    for larger in ["kB", "MB", "GB"] {
        if value >= 999.5 {
            (value, unit) = (value / 1000.0, larger);
        }
    }
    let decimals = if unit == "B" || value >= 99.95 { 0 } else { 1 };
    format!("{value:.decimals$} {unit}")
}

/// Returns the summary: the accuracy curve and a table.
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
        ("sent by clients", sent(report)),
        ("received by clients", bytes(report.bytes_down)),
        ("model", files.model.clone()),
        ("report", files.report.clone()),
        ("chart", files.chart.clone()),
        ("data of this run", files.run.clone()),
    ];
    let mut rows = Vec::from(rows);
    let spent = report.per_round.last().and_then(|round| round.epsilon);
    if let (Some(budget), Some(spent)) = (report.settings.privacy, spent) {
        let of = format!("{spent:.2} of {} at delta {}", budget.epsilon, budget.delta);
        rows.insert(2, ("epsilon spent", format!("{} {of}", gauge(spent / budget.epsilon))));
    }
    if let Some(vanished) = report.vanished {
        rows.insert(2, ("clients vanished", format!("{vanished} of {}", report.settings.clients)));
    }
    let mut lines = vec![String::new()];
    lines.extend(accuracy_curve(&report.accuracies()));
    lines.push(String::new());
    lines.extend(table(&rows));
    lines
}

/// Draws a share as a bar of ten characters.
fn gauge(share: f64) -> String {
    let full = (share * 10.0).round().clamp(0.0, 10.0) as usize;
    "█".repeat(full) + &"░".repeat(10 - full)
}

/// Returns the shell commands for reaching a coordinator that keeps running.
pub fn serving(serving: &Serving) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "The coordinator and its clients keep running until ctrl-c. In another terminal, run:".to_owned(),
        format!("  export FOLKMOOT_URL={}", serving.url),
    ];
    lines.extend(serving.root_certificate.iter().map(|path| format!("  export FOLKMOOT_CA='{path}'")));
    lines.extend(serving.api_key.iter().map(|key| format!("  export FOLKMOOT_API_KEY={key}")));
    lines.push("  folkmoot task list".to_owned());
    lines.push(format!("Or in a browser, with that API key: {}/console/", serving.url));
    lines
}

/// Draws a table with two columns.
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

/// Returns the bytes that clients sent and, if they were compressed, the ratio to float32.
fn sent(report: &Report) -> String {
    let sent = bytes(report.bytes_up);
    match report.settings.codec {
        None if report.settings.secure_aggregation => {
            format!("{sent}, masked: the coordinator saw only sums")
        }
        None => sent,
        Some(codec) => {
            let times = report.bytes_up_as_float32 as f64 / report.bytes_up.max(1) as f64;
            format!(
                "{sent} as {codec}, {times:.1} times fewer than the {} of float32",
                bytes(report.bytes_up_as_float32)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_report;

    #[test]
    fn rounds_stand_in_columns_below_their_head() {
        for rounds in [1, 30, 10_000] {
            let report = test_report(&[0.05, 1.0]);
            let mut widths = report.per_round.iter().map(|report| round(report, rounds).chars().count());
            let head = round_head(rounds, rounds > 1).chars().count();
            assert!(head < 80 && widths.all(|width| width == head), "{rounds}");
        }
    }

    #[test]
    fn bytes_have_three_digits() {
        let shown: Vec<String> = [0, 999, 1000, 99_949, 193_520, 999_600, 5_810_000].map(bytes).into();
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "99.9 kB", "194 kB", "1.0 MB", "5.8 MB"]);
    }

    #[test]
    fn a_table_is_as_wide_in_every_line() {
        let lines = table(&[("a", "größer".into()), ("longer", "b".into())]);
        let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        assert!(lines.len() == 4 && widths.iter().all(|width| *width == widths[0]), "{lines:#?}");
    }
}
