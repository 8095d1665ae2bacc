//! The page around plots and tables.

use std::fmt::Write as _;

use super::{
    RUNS_MAX, Report, ReportError, charts, colours, contributions, figure::Figure, html::Escaped,
    legend::legend, tables,
};

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
        let mut page = Page::new(&self.title, self.subtitle.as_deref());
        page.section("Summary", &tables::summary(self));
        for part in charts::sections(self) {
            let legend = match part.is_by_run {
                true => legend(self.runs.iter().map(|run| run.name.as_str()).enumerate()),
                false => String::new(),
            };
            page.section(part.title, &(legend + &figures(&part.figures)?));
        }
        let mut valued = String::new();
        for run in &self.runs {
            let name = Some(run.name.as_str()).filter(|_| self.runs.len() > 1);
            if let Some(found) = &run.contributions {
                valued += &contributions::section(&self.metric, name, found)?;
            }
        }
        if !valued.is_empty() {
            page.section("Contributions of the clients", &valued);
        }
        let runs = self.runs.iter().map(|run| (run.name.as_str(), run.settings.as_slice()));
        let settings = tables::settings(runs, true);
        if !settings.is_empty() {
            page.section("Settings", &settings);
        }
        Ok(page.end())
    }
}

/// A page that is being written.
pub(super) struct Page(String);

impl Page {
    /// Begins a page with its title and a line below the title.
    pub(super) fn new(title: &str, subtitle: Option<&str>) -> Self {
        let title = Escaped(title);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{}{STYLE}</style>\n\
             </head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n",
            colours::style_sheet()
        );
        if let Some(subtitle) = subtitle {
            let _ = writeln!(html, "<p class=\"subtitle\">{}</p>", Escaped(subtitle));
        }
        Self(html + "</header>\n")
    }

    /// Adds a section. The body is HTML.
    pub(super) fn section(&mut self, title: &str, body: &str) {
        let _ = write!(self.0, "<section>\n<h2>{title}</h2>\n{body}</section>\n");
    }

    /// Ends the page and returns its HTML.
    pub(super) fn end(self) -> String {
        self.0 + "</main>\n</body>\n</html>\n"
    }
}

/// Renders figures side by side.
pub(super) fn figures(figures: &[Figure]) -> Result<String, ReportError> {
    let figures: Vec<String> = figures.iter().map(Figure::html).collect::<Result<_, _>>()?;
    Ok(format!("<div class=\"figures\">\n{}</div>\n", figures.concat()))
}
