//! The result as an HTML page: one file without scripts.

use std::fmt::Write as _;

use folkmoot_simulation::chart::Chart;

use super::{
    LoadError, Report,
    record::{Kind, KindReport},
};

const STYLE: &str = "body { font: 16px/1.5 sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; \
color-scheme: light dark } table { border-collapse: collapse } th, td { border-bottom: 1px solid #888; padding: 0.25rem \
0.75rem; text-align: right } th:first-child, td:first-child { text-align: left } figure { margin: 2rem 0 } svg { \
height: auto; max-width: 100% }";

/// Renders the page. All texts in it are numbers, names of this program, and the address, which was parsed as a URL
/// without a path.
///
/// # Errors
/// [`LoadError::Chart`] if a curve cannot be drawn.
pub fn html(report: &Report) -> Result<String, LoadError> {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Load test</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Load test of {}</h1>\n<p>{}</p>\n",
        report.url,
        report.summary()
    );
    html += "<table>\n<tr><th>request</th><th>answered</th><th>per s</th><th>p50 ms</th><th>p90 ms</th><th>p99 ms</th>\
             <th>max ms</th><th>failed</th><th>dropped</th></tr>\n";
    for one in &report.requests {
        row(&mut html, one);
    }
    html += "</table>\n";
    let failures = report.requests.iter().flat_map(|one| {
        one.failures
            .iter()
            .map(|(reason, count)| format!("<li>{count} of {}: {reason}</li>\n", one.kind.name()))
    });
    let failures: String = failures.collect();
    if !failures.is_empty() {
        let _ = write!(html, "<h2>Failures</h2>\n<ul>\n{failures}</ul>\n");
    }
    html += "<h2>Latencies</h2>\n";
    // The latency of a wait is mostly the wait that the device asked for.
    for one in report.requests.iter().filter(|one| one.kind != Kind::Wait && one.answered > 0) {
        let _ = write!(html, "<figure>\n{}</figure>\n", curve(one)?);
    }
    let settings = serde_json::to_string_pretty(&report.settings)?;
    let _ = write!(html, "<h2>Settings</h2>\n<pre>{settings}</pre>\n</body>\n</html>\n");
    Ok(html)
}

fn row(html: &mut String, one: &KindReport) {
    let _ = writeln!(
        html,
        "<tr><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td><td>{}</td>\
         <td>{}</td></tr>",
        one.kind.name(),
        one.answered,
        one.per_second,
        one.p50_ms,
        one.p90_ms,
        one.p99_ms,
        one.max_ms,
        one.failed,
        one.dropped
    );
}

/// Draws the latency at each percentile.
fn curve(one: &KindReport) -> Result<String, LoadError> {
    let chart = Chart {
        caption: format!("{}: {} answers", one.kind.name(), one.answered),
        x: "percentile",
        y: "milliseconds",
        range: 0.0..one.max_ms.max(f64::MIN_POSITIVE) * 1.05,
        decimals: 1,
        points: &one.curve,
    };
    Ok(chart.svg()?)
}
