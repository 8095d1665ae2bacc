use std::fmt::Write as _;

use super::{ReportError, html::Escaped, legend::legend, plot::Plot};

/// A plot with its words.
pub(super) struct Figure {
    pub(super) plot: Plot,
    /// Whose the lines are, by colour, where the section's legend does not say it.
    pub(super) names: Vec<(usize, String)>,
    /// A sentence below.
    pub(super) note: Option<String>,
}

impl Figure {
    /// Writes the figure; its title stands above the plot.
    pub(super) fn html(&self) -> Result<String, ReportError> {
        let mut html = format!("<figure>\n<figcaption>{}</figcaption>\n", Escaped(&self.plot.title));
        if !self.names.is_empty() {
            html += &legend(self.names.iter().map(|(colour, name)| (*colour, name.as_str())));
        }
        html += &self.plot.svg()?;
        if let Some(note) = &self.note {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", Escaped(note));
        }
        html += "</figure>\n";
        Ok(html)
    }
}
