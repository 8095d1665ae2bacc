//! Reports that other packages put together from text, tables, plots and drawings, in the style of this module.

use std::fmt::Write as _;

use super::{
    Comparison, ReportError,
    axis::Scale,
    figure::Figure,
    html::Escaped,
    page::{Page, figures},
    plot::{Axis, Line, Plot},
    tables,
    thin::thin,
};

/// A report in sections.
pub struct Document(Page);

impl Document {
    /// Begins a report with its title and a line below the title.
    pub fn new(title: &str, subtitle: &str) -> Self {
        Self(Page::new(title, Some(subtitle)))
    }

    /// Adds a section.
    pub fn section(&mut self, title: &str, body: &Body) {
        self.0.section(&Escaped(title).to_string(), &body.0);
    }

    /// Ends the report and returns it as HTML.
    pub fn end(self) -> String {
        self.0.end()
    }
}

/// The contents of a section, in order.
#[derive(Default)]
pub struct Body(String);

/// A plot of lines over two axes.
pub struct Curves<'a> {
    /// The title.
    pub title: &'a str,
    /// The name of the horizontal axis.
    pub x: &'a str,
    /// The name of the vertical axis.
    pub y: &'a str,
    /// The end of both axes, which begin at 0.
    pub end: f64,
    /// The lines by name, at most [`super::RUNS_MAX`], with their points (x, y) in order of x.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
    /// A sentence below the plot.
    pub note: Option<String>,
}

impl Body {
    /// Adds a paragraph.
    pub fn text(&mut self, text: &str) {
        self.paragraph("", text);
    }

    /// Adds a paragraph in small print.
    pub fn note(&mut self, text: &str) {
        self.paragraph(" class=\"note\"", text);
    }

    fn paragraph(&mut self, class: &str, text: &str) {
        let _ = write!(self.0, "<p{class}>");
        // `Escaped` cuts long texts off, so each sentence is escaped on its own.
        for sentence in text.split_inclusive(". ") {
            let _ = write!(self.0, "{}", Escaped(sentence));
        }
        self.0 += "</p>\n";
    }

    /// Adds a table. `kind` is the heading of the first column, which has the names of the rows.
    pub fn table(&mut self, kind: &str, headings: &[&str], rows: &[(String, Vec<String>)]) {
        self.0 += &tables::table(kind, headings.iter().copied(), rows, false);
    }

    /// Adds plots side by side.
    ///
    /// # Errors
    /// [`ReportError`] if a plot cannot be drawn.
    pub fn curves(&mut self, plots: &[Curves<'_>]) -> Result<(), ReportError> {
        self.0 += &figures(&plots.iter().map(Curves::figure).collect::<Vec<Figure>>())?;
        Ok(())
    }

    /// Adds the curves of a comparison.
    ///
    /// # Errors
    /// [`ReportError`] if a plot cannot be drawn.
    pub fn comparison(&mut self, comparison: &Comparison) -> Result<(), ReportError> {
        self.0 += &comparison.curves()?;
        Ok(())
    }

    /// Adds wide drawings below each other: the title and the SVG of each. The SVG is not escaped, so it must not contain text that
    /// the caller has not escaped.
    pub fn drawings(&mut self, drawings: &[(String, String)]) {
        self.0 += "<div class=\"figures wide\">\n";
        for (title, svg) in drawings {
            let title = Escaped(title);
            let _ = write!(self.0, "<figure>\n<figcaption>{title}</figcaption>\n{svg}</figure>\n");
        }
        self.0 += "</div>\n";
    }
}

impl Curves<'_> {
    fn figure(&self) -> Figure {
        let scale = Scale::covering([0.0, self.end].into_iter(), true);
        let lines = self.lines.iter().enumerate().map(|(colour, (_, points))| Line {
            points: thin(points.iter().copied()),
            colour,
            is_faint: false,
        });
        let plot = Plot {
            title: self.title.to_owned(),
            x: Axis { name: self.x.to_owned(), scale },
            y: Axis { name: self.y.to_owned(), scale },
            bands: Vec::new(),
            lines: lines.collect(),
            front: None,
        };
        let names = self.lines.iter().enumerate().map(|(colour, (name, _))| (colour, name.clone()));
        Figure { plot, names: names.collect(), note: self.note.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_parts_in_order_and_escapes_text() {
        let mut body = Body::default();
        body.text("One <b>. Two.");
        body.table("Kind", &["a", "b"], &[("row & more".into(), vec!["1".into(), "2".into()])]);
        let curves = Curves {
            title: "Line",
            x: "across",
            y: "up",
            end: 1.0,
            lines: vec![("diagonal".into(), vec![(0.0, 0.0), (1.0, 1.0)])],
            note: Some("A note.".into()),
        };
        body.curves(&[curves]).unwrap();
        body.drawings(&[("Picture".into(), "<svg/>".into())]);
        let mut document = Document::new("Title", "below");
        document.section("Part & more", &body);
        let html = document.end();
        let parts =
            ["<h2>Part &amp; more</h2>", "One &lt;b&gt;. Two.", "row &amp; more", "diagonal", "<svg/>"];
        let places: Vec<usize> = parts.iter().map(|part| html.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}
