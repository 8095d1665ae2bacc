//! Draws a plot as a self-contained SVG with a light background.

use std::fmt::Write as _;

use super::plot::{Line, Panel, Plot, Scale};

/// Sizes in pixels.
const PANEL_WIDTH: f64 = 380.0;
const PANEL_HEIGHT: f64 = 270.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 14.0;
const LEGEND_ROW: f64 = 18.0;
/// The maximum number of panels in a row.
const COLUMNS_MAX: usize = 3;
/// Lines with at most this many points have a marker at each point.
const MARKED_MAX: usize = 8;
const BANDS: &str = "Lines are means over seeds, bands and bars their 95 % t intervals; one seed has none.";
/// The approximate width of a letter in pixels.
const LETTER: f64 = 6.4;

/// Colours that also differ in brightness, for colour-blind readers. Later lines reuse these colours, dashed.
const HUES: [&str; 8] =
    ["#1f5aa6", "#c84b14", "#117a65", "#844299", "#9a6b00", "#b0204b", "#2e86b8", "#5b636e"];

struct Frame<'a> {
    plot: &'a Plot,
    names: Vec<&'a str>,
    y: Scale,
    left: f64,
    top: f64,
}

impl Plot {
    /// Draws the plot.
    pub fn svg(&self) -> String {
        let names = self.names();
        let columns = self.panels.len().clamp(1, COLUMNS_MAX);
        let rows = self.panels.len().div_ceil(columns).max(1);
        let width = columns as f64 * PANEL_WIDTH;
        let (legend, legend_height) = legend(&names, width, rows as f64 * PANEL_HEIGHT);
        let height = rows as f64 * PANEL_HEIGHT + legend_height;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let values = lines().flat_map(|line| &line.points).map(|point| point.1);
        let y = Scale::covering(values);
        for (index, panel) in self.panels.iter().enumerate() {
            let left = (index % columns) as f64 * PANEL_WIDTH;
            let top = (index / columns) as f64 * PANEL_HEIGHT;
            let frame = Frame { plot: self, names: names.clone(), y: y.clone(), left, top };
            frame.draw(panel, &mut svg);
        }
        svg + &legend + "</svg>\n"
    }

    /// Returns the names of all lines, each once.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if !names.contains(&line.name.as_str()) {
                names.push(&line.name);
            }
        }
        names
    }
}

impl Frame<'_> {
    fn draw(&self, panel: &Panel, svg: &mut String) {
        let ends = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let x = Scale::covering(std::iter::once(0.0).chain(ends));
        let (left, right) = (self.left + LEFT, self.left + PANEL_WIDTH - RIGHT);
        let (top, bottom) = (self.top + TOP, self.top + PANEL_HEIGHT - BOTTOM);
        let middle = f64::midpoint(left, right);
        let title = escaped(&panel.title);
        text(svg, (middle, top - 12.0), "middle", &format!(" font-weight=\"bold\">{title}"));
        for tick in self.y.ticks() {
            let at = bottom - self.y.share(tick) * (bottom - top);
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e2e6eb\"/>"
            );
            let factor = if self.plot.is_share { 100.0 } else { 1.0 };
            text(svg, (left - 6.0, at + 4.0), "end", &format!(">{}", self.y.show(tick, factor)));
        }
        for tick in x.ticks() {
            let at = left + x.share(tick) * (right - left);
            let shown = match self.plot.x_is_doubling {
                true if tick < 0.0 => format!("1/{}", (-tick).exp2().round()),
                true => x.show(tick.exp2(), 1.0),
                false => x.show(tick, 1.0),
            };
            text(svg, (at, bottom + 16.0), "middle", &format!(">{shown}"));
        }
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#8b939e\"/>"
        );
        text(svg, (middle, bottom + 34.0), "middle", &format!(">{}", escaped(self.plot.x)));
        let (across, down) = (self.left + 13.0, f64::midpoint(top, bottom));
        let turn = format!(" transform=\"rotate(-90 {across} {down})\">{}", escaped(self.plot.y));
        text(svg, (across, down), "middle", &turn);
        let place = |across: f64, up: f64| {
            (left + x.share(across) * (right - left), bottom - self.y.share(up) * (bottom - top))
        };
        for line in &panel.lines {
            let number = self.names.iter().position(|name| *name == line.name).unwrap_or(0);
            curve(svg, line, number, place);
        }
    }
}

/// Draws a line over the band of its intervals. A line with few points also has an error bar at each point.
fn curve(svg: &mut String, line: &Line, number: usize, place: impl Fn(f64, f64) -> (f64, f64)) {
    let join = |points: Vec<(f64, f64)>| {
        points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<String>>().join(" ")
    };
    let upper = line.points.iter().map(|point| place(point.0, point.1 + point.2));
    let lower = line.points.iter().rev().map(|point| place(point.0, point.1 - point.2));
    let band = join(upper.chain(lower).collect());
    let mean = join(line.points.iter().map(|point| place(point.0, point.1)).collect());
    let hue = HUES[number % HUES.len()];
    let _ = writeln!(svg, "<polygon points=\"{band}\" fill=\"{hue}\" fill-opacity=\"0.12\"/>");
    let _ = writeln!(
        svg,
        "<polyline points=\"{mean}\" fill=\"none\" stroke=\"{hue}\" stroke-width=\"1.8\"{}/>",
        dashes(number)
    );
    if line.points.len() <= MARKED_MAX {
        for point in &line.points {
            let (x, y) = place(point.0, point.1);
            let (low, high) = (place(point.0, point.1 - point.2).1, place(point.0, point.1 + point.2).1);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" stroke=\"{hue}\"/>"
            );
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{hue}\"/>");
        }
    }
}

/// Returns the SVG of the legend below the panels, and its height.
fn legend(names: &[&str], width: f64, top: f64) -> (String, f64) {
    let (mut svg, mut x, mut y) = (String::new(), 16.0, top + 14.0);
    for (number, name) in names.iter().enumerate() {
        let needed = 34.0 + name.chars().count() as f64 * LETTER + 18.0;
        if x + needed > width && x > 16.0 {
            (x, y) = (16.0, y + LEGEND_ROW);
        }
        let hue = HUES[number % HUES.len()];
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{hue}\" stroke-width=\"2.4\"{}/>",
            x + 26.0,
            dashes(number)
        );
        text(&mut svg, (x + 32.0, y + 4.0), "start", &format!(">{}", escaped(name)));
        x += needed;
    }
    y += LEGEND_ROW;
    text(&mut svg, (16.0, y + 4.0), "start", &format!(">{BANDS}"));
    (svg, y + 14.0 - top)
}

fn dashes(number: usize) -> &'static str {
    if number < HUES.len() { "" } else { " stroke-dasharray=\"5 3\"" }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, rest: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#3a414b\"{rest}</text>"
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_once_in_each_panel_and_once_in_the_legend() {
        let line = |name: &str| Line { name: name.into(), points: vec![(1.0, 0.5, 0.1), (2.0, 0.7, 0.0)] };
        let panel = |title: &str| Panel { title: title.into(), lines: vec![line("a < b"), line("c")] };
        let plot = Plot {
            x: "rounds",
            y: "accuracy",
            is_share: true,
            panels: vec![panel("one"), panel("two")],
            ..Plot::default()
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert_eq!(svg.matches("a &lt; b").count(), 1);
        assert!(svg.contains(">50</text>"), "shares are shown in percent");
        assert!(!svg.contains("NaN"));
        let bars = |text: &str| text.matches("stroke=\"#1f5aa6\"/>").count();
        assert_eq!(
            (svg.matches(BANDS).count(), bars(&svg)),
            (1, 4),
            "each point shows its interval, and the legend says so"
        );
    }
}
