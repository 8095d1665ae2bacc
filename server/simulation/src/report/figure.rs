use std::fmt::Write as _;

use super::{ReportError, html::Escaped, legend::legend, plot::Plot};

/// A plot with its title, legend and note.
pub(super) struct Figure {
    pub(super) plot: Plot,
    /// The names of the lines by colour, if the section's legend does not give them.
    pub(super) names: Vec<(usize, String)>,
    /// A sentence below the plot.
    pub(super) note: Option<String>,
}

impl Figure {
    /// Renders the figure as HTML, with its title above the plot.
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
