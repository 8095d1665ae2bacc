//! Draws tables of measurements. A page marks a table with a comment before it, and the plot follows the table:
//!
//! `<!-- plot CPU ms of an update; labels 1; values 2 3 -->`
//!
//! The columns count from 1. A value is a number or a range such as `0.6–0.8`; other cells are left out. The axis is
//! logarithmic, because the values of systems differ by orders of magnitude.

use super::html::escaped;
use std::fmt::Write as _;

const MARK: &str = "<!-- plot ";
/// The width of a letter, the width of the plot, and the height of a value, in units of the picture.
const LETTER: f64 = 7.2;
const WIDTH: f64 = 460.0;
const ROW: f64 = 18.0;
/// Colours that differ in brightness, too. The first one is Folkmoot's.
const COLOURS: [&str; 5] = ["#1d58b8", "#b4530a", "#1c7a46", "#8b2fae", "#a3172f"];

/// The smallest and the largest value of a measurement.
type Range = (f64, f64);
/// The label of a row, and its value in each series.
type Row = (String, Vec<Option<Range>>);

/// A table to draw.
#[derive(Debug, PartialEq)]
struct Plot {
    title: String,
    series: Vec<String>,
    rows: Vec<Row>,
}

/// Draws the marked tables of a page. `path` is the path of a picture without its number and ending, as the page sees
/// it. Returns the page with the pictures' links, and the pictures in their order.
///
/// # Errors
/// Names a mark that cannot be understood.
pub fn draw(text: &str, path: &str) -> Result<(String, Vec<String>), String> {
    let (mut result, mut pictures, mut lines) = (String::new(), Vec::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let _ = writeln!(result, "{line}");
        let Some(mark) = line.strip_prefix(MARK).and_then(|mark| mark.strip_suffix(" -->")) else { continue };
        let mut table = Vec::new();
        while let Some(row) =
            lines.next_if(|line| line.starts_with('|') || line.is_empty() && table.is_empty())
        {
            let _ = writeln!(result, "{row}");
            if !row.is_empty() {
                table.push(cells(row));
            }
        }
        let plot =
            Plot::read(mark, &table).ok_or_else(|| format!("`{line}` is not followed by such a table"))?;
        pictures.push(plot.picture());
        let picture = format!("{path}-{}.svg", pictures.len());
        let _ = writeln!(result, "\n[![A plot of this table: {}]({picture})]({picture})", plot.title);
    }
    Ok((result, pictures))
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.replace("**", "").trim().to_owned()).collect()
}

/// Reads a number, or a range of two.
fn value(cell: &str) -> Option<Range> {
    let cell = cell.split(" (").next().unwrap_or_default().replace(',', "");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    match cell.split_once('–') {
        Some((least, most)) => Some((number(least)?, number(most)?)),
        None => number(&cell).map(|number| (number, number)),
    }
}

impl Plot {
    fn read(mark: &str, table: &[Vec<String>]) -> Option<Self> {
        let mut parts = mark.split("; ");
        let title = parts.next()?.to_owned();
        let mut columns = |name: &str| -> Option<Vec<usize>> {
            let numbers = parts.next()?.strip_prefix(name)?.split_whitespace();
            numbers.map(|number| number.parse::<usize>().ok()?.checked_sub(1)).collect()
        };
        let (labels, values) = (columns("labels")?, columns("values")?);
        let [head, _, rows @ ..] = table else { return None };
        let series: Option<Vec<String>> = values.iter().map(|column| head.get(*column).cloned()).collect();
        let rows = rows.iter().map(|row| {
            let label: Vec<&str> =
                labels.iter().filter_map(|column| row.get(*column)).map(String::as_str).collect();
            (label.join(", "), values.iter().map(|column| value(row.get(*column)?)).collect())
        });
        let rows: Vec<Row> = rows.filter(|(_, values): &Row| values.iter().any(Option::is_some)).collect();
        let has_value = |index: usize| rows.iter().any(|(_, values)| values[index].is_some());
        (0..values.len()).all(has_value).then_some(Self { title, series: series?, rows })
    }

    /// Returns the powers of ten around all values.
    fn limits(&self) -> (f64, f64) {
        let values = self.rows.iter().flat_map(|(_, values)| values.iter().flatten());
        let (least, most) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), (from, to)| {
            (least.min(*from), most.max(*to))
        });
        (least.log10().floor(), most.log10().ceil())
    }

    /// Returns the width of the labels.
    fn labels(&self) -> f64 {
        let longest = self.rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
        longest as f64 * LETTER + 30.0
    }

    fn picture(&self) -> String {
        let labels = self.labels();
        let (first, last) = self.limits();
        let x = |value: f64| labels + (value.log10() - first) / (last - first).max(1.0) * WIDTH;
        let (mut marks, mut y) = (String::new(), 44.0);
        for (label, values) in &self.rows {
            let _ = write!(
                marks,
                "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
                labels - 10.0,
                y + ROW * 0.75,
                escaped(label)
            );
            for (value, colour) in values.iter().zip(COLOURS.iter().cycle()) {
                let Some((from, to)) = value else { continue };
                let (from, to, middle) = (x(*from), x(*to), y + ROW / 2.0);
                let _ = write!(
                    marks,
                    "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"{colour}\" stroke-width=\"9\" stroke-linecap=\"round\"/>"
                );
                y += ROW;
            }
            y += 8.0;
        }
        let mut axis = String::new();
        for power in first as i32..=last as i32 {
            let at = x(10f64.powi(power));
            let name = if power < 0 {
                format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power))
            } else {
                format!("{}", 10f64.powi(power))
            };
            let _ = write!(
                axis,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"38\" y2=\"{y:.0}\" stroke=\"#d5dbe3\"/><text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{name}</text>",
                y + 16.0
            );
        }
        let (legend, below) = self.legend(y + 40.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {below:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#16202c\">\n\
             <title>{title}</title><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/><text x=\"16\" y=\"24\" font-weight=\"600\">{title} (logarithmic)</text>\n{axis}\n{marks}\n{legend}\n</svg>\n",
            width = labels + WIDTH + 30.0,
            title = escaped(&self.title),
        )
    }

    /// Returns the legend, and the height of the picture with it. A single series needs no legend.
    fn legend(&self, y: f64) -> (String, f64) {
        if self.series.len() < 2 {
            return (String::new(), y - 16.0);
        }
        let (mut legend, labels) = (String::new(), self.labels());
        for (index, (name, colour)) in self.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let (x, y) = (labels + (index % 2) as f64 * WIDTH / 2.0, y + (index / 2) as f64 * 20.0);
            let _ = write!(
                legend,
                "<circle cx=\"{x:.0}\" cy=\"{:.0}\" r=\"5\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
                y - 4.0,
                x + 10.0,
                escaped(name)
            );
        }
        (legend, y + (self.series.len().div_ceil(2)) as f64 * 20.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# P\n\n<!-- plot Time in ms; labels 1; values 2 3 -->\n| size | **Ours** | other |\n|---|---|---|\n| 1,000 | **0.5** (a) | 5–20 |\n| gemm | | – |\n\nEnd.\n";

    #[test]
    fn a_marked_table_gets_a_plot() {
        let (page, pictures) = draw(PAGE, "images/p").unwrap();
        assert!(
            page.contains("| gemm | | – |\n\n[![A plot of this table: Time in ms](images/p-1.svg)](images/p-1.svg)\n\nEnd."),
            "{page}"
        );
        assert_eq!(pictures.len(), 1);
        assert!(pictures[0].contains(">Ours</text>") && pictures[0].contains(">1,000</text>"));
        assert!(!pictures[0].contains("gemm"));
    }

    #[test]
    fn numbers_and_ranges_are_read() {
        assert_eq!(value("0.397 (1.11 times)"), Some((0.397, 0.397)));
        assert_eq!(value("2,873 – 3,702"), Some((2873.0, 3702.0)));
        assert_eq!(value("–"), None);
    }

    #[test]
    fn a_mark_without_a_table_is_an_error() {
        assert!(draw("<!-- plot A; labels 1; values 2 -->\n\nText.\n", "p").is_err());
        assert!(draw("<!-- plot A -->\n| a |\n|---|\n", "p").is_err());
        // The marked column has no values.
        assert!(draw("<!-- plot A; labels 1; values 2 -->\n| a | b |\n|---|---|\n| c | d |\n", "p").is_err());
    }
}
