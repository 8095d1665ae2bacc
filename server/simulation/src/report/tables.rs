//! The tables of the summary and of the settings, with a column for each run.

use std::fmt::Write as _;

use super::{
    Metric, Reached, Report, Summary,
    html::Escaped,
    quantity::{bytes, number, seconds},
};

/// A row's name and its cells.
pub(super) type Row = (String, Vec<String>);

/// The cell of a missing value.
pub(super) const NOTHING: &str = "–";

/// Renders the results of the runs.
pub(super) fn summary(report: &Report) -> String {
    let summaries: Vec<Summary> =
        report.runs.iter().map(|run| Summary::of(&run.rounds, &report.metric, report.target)).collect();
    let row = |name: &str, value: &dyn Fn(&Summary) -> Option<String>| -> Row {
        let cells = summaries.iter().map(|summary| value(summary).unwrap_or_else(|| NOTHING.to_owned()));
        (name.to_owned(), cells.collect())
    };
    let metric = &report.metric;
    let mut rows = vec![
        row(&format!("Last held-out {}", metric.name), &|summary| Some(show(metric, summary.last_metric?))),
        row(&format!("Best held-out {}", metric.name), &|summary| Some(show(metric, summary.best_metric?))),
    ];
    if let Some(target) = report.target {
        let reached = |name: &str, value: &dyn Fn(Reached) -> String| {
            let name = format!("{name} until {}", show(metric, target));
            row(&name, &|summary| Some(value(summary.reached?)))
        };
        rows.push(reached("Rounds", &|reached| number(reached.round_number as f64)));
        rows.push(reached("Virtual time", &|reached| seconds(reached.virtual_seconds)));
        rows.push(reached("Traffic", &|reached| bytes(reached.bytes)));
    }
    let sums = [
        row("Committed rounds", &|summary| Some(number(summary.committed as f64))),
        row("Abandoned rounds", &|summary| Some(number(summary.abandoned as f64))),
        row("Virtual time", &|summary| Some(seconds(summary.virtual_seconds))),
        row("Sent to the clients", &|summary| Some(bytes(summary.bytes_down))),
        row("Sent from the clients", &|summary| Some(bytes(summary.bytes_up))),
        row("Trainings by clients", &|summary| Some(number(summary.client_rounds))),
        row("Drawn clients that dropped out", &|summary| Some(percent(summary.dropped_share?))),
        row("Mean over the clients", &|summary| Some(show(metric, summary.fairness?.mean))),
        row("Worst tenth of the clients", &|summary| Some(show(metric, summary.fairness?.worst_tenth))),
        row("Best tenth of the clients", &|summary| Some(show(metric, summary.fairness?.best_tenth))),
        row("Deviation among the clients", &|summary| Some(points(metric, summary.fairness?.deviation))),
        row("Mean staleness", &|summary| Some(number(summary.staleness_mean?))),
        row("Maximum staleness", &|summary| Some(number(summary.staleness_max? as f64))),
    ];
    // Leave out rows in which no run has a value. The rows of the target are kept, even if no run reached it.
    rows.extend(sums.into_iter().filter(|(_, cells)| cells.iter().any(|cell| cell != NOTHING)));
    table("Result", report.runs.iter().map(|run| run.name.as_str()), &rows, false)
}

/// Renders the settings of runs, each with its name; empty if there are none. With `marks_differences`, settings in which
/// the runs differ are highlighted.
pub(super) fn settings<'a>(
    runs: impl Iterator<Item = (&'a str, &'a [(String, String)])> + Clone,
    marks_differences: bool,
) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.clone().flat_map(|(_, settings)| settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let rows: Vec<Row> = names
        .into_iter()
        .map(|name| {
            let cells = runs.clone().map(|(_, settings)| {
                let setting = settings.iter().find(|(found, _)| found == name);
                setting.map_or_else(|| NOTHING.to_owned(), |(_, value)| value.clone())
            });
            (name.to_owned(), cells.collect())
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table("Setting", runs.map(|(name, _)| name), &rows, marks_differences)
}

/// Formats a value of the metric.
pub(super) fn show(metric: &Metric, value: f64) -> String {
    if metric.is_share { percent(value) } else { number(value) }
}

/// Formats a difference of two values of the metric.
fn points(metric: &Metric, value: f64) -> String {
    if metric.is_share { format!("{} points", number((1e4 * value).round() / 100.0)) } else { number(value) }
}

/// Formats a share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", number((1e4 * share).round() / 100.0))
}

/// Renders a table with a heading for each column. With `marks_differences`, rows whose cells differ are highlighted.
pub(super) fn table<'a>(
    kind: &str,
    headings: impl Iterator<Item = &'a str>,
    rows: &[Row],
    marks_differences: bool,
) -> String {
    let class = if marks_differences { "" } else { " class=\"values\"" };
    let mut html = format!("<div class=\"scroll\"><table{class}>\n<thead><tr><th scope=\"col\">{kind}</th>");
    for heading in headings {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Escaped(heading));
    }
    html += "</tr></thead>\n<tbody>\n";
    for (name, cells) in rows {
        let differs = marks_differences && cells.windows(2).any(|pair| pair[0] != pair[1]);
        let class = if differs { " class=\"differs\"" } else { "" };
        let _ = write!(html, "<tr{class}><th scope=\"row\">{}</th>", Escaped(name));
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", Escaped(cell));
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table></div>\n"
}
