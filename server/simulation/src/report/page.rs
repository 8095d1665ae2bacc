//! The page around plots and tables.

use std::fmt::Write as _;

use super::{RUNS_MAX, Report, ReportError, charts, colours, html::Escaped, legend::legend, tables};

const STYLE: &str = include_str!("style.css");

impl Report {
    /// Renders the report as an HTML page.
    ///
    /// # Errors
    /// [`ReportError`] if there are too many runs or none, or a plot cannot be drawn.
    pub fn html(&self) -> Result<String, ReportError> {
        let runs = self.runs.len();
        if runs == 0 || runs > RUNS_MAX {
            return Err(ReportError::RunCount { runs });
        }
        write(self)
    }
}

/// Renders the page.
fn write(report: &Report) -> Result<String, ReportError> {
    let title = Escaped(&report.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{}{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n",
        colours::style_sheet()
    );
    if let Some(subtitle) = &report.subtitle {
        let _ = writeln!(html, "<p class=\"subtitle\">{}</p>", Escaped(subtitle));
    }
    html += "</header>\n";
    section(&mut html, "Summary", &tables::summary(report));
    for part in charts::sections(report) {
        let mut body = String::new();
        if part.is_by_run {
            body += &legend(report.runs.iter().enumerate().map(|(colour, run)| (colour, run.name.as_str())));
        }
        body += "<div class=\"figures\">\n";
        for figure in &part.figures {
            body += &figure.html()?;
        }
        body += "</div>\n";
        section(&mut html, part.title, &body);
    }
    let settings = tables::settings(report);
    if !settings.is_empty() {
        section(&mut html, "Settings", &settings);
    }
    html += "</main>\n</body>\n</html>\n";
    Ok(html)
}

fn section(html: &mut String, title: &str, body: &str) {
    let _ = write!(html, "<section>\n<h2>{title}</h2>\n{body}</section>\n");
}
