//! Lines over two axes, as an SVG.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{ReportError, axis::Scale, colours, quantity};

/// The number of units per pixel. The library places points only on whole units, and steps of a whole pixel would be
/// visible.
const PIXEL: i32 = 4;
const WIDTH: i32 = 620 * PIXEL;
const HEIGHT: i32 = 372 * PIXEL;
/// The distances from the edges to the plot: left, right, top, bottom.
const MARGINS: (i32, i32, i32, i32) = (72 * PIXEL, 22 * PIXEL, 16 * PIXEL, 56 * PIXEL);
/// The font sizes. The library divides them by 1.24.
const NUMBERS: f64 = 16.5 * PIXEL as f64;
const NAMES: f64 = 17.5 * PIXEL as f64;
/// Widths of strokes.
const THIN: u32 = PIXEL as u32;
const STRONG: u32 = 2 * PIXEL as u32;
/// Lines have markers if no line has more points than this.
const MARKS_MAX: usize = 40;

/// The opacity of the area around a line.
const BAND_OPACITY: f64 = 0.14;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A plot: lines over two axes.
pub(super) struct Plot {
    /// The title, also the label for screen readers.
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// The areas behind the lines.
    pub(super) bands: Vec<Band>,
    pub(super) lines: Vec<Line>,
    /// A front behind the lines; `None` for most plots.
    pub(super) front: Option<Front>,
}

/// The border of the reachable values, and the points on it.
pub(super) struct Front {
    /// The corners of the border, in order.
    pub(super) line: Vec<(f64, f64)>,
    /// The points, each of which gets a ring.
    pub(super) places: Vec<(f64, f64)>,
}

/// An axis: its name and its scale.
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) scale: Scale,
}

/// A line of a plot.
pub(super) struct Line {
    pub(super) points: Vec<(f64, f64)>,
    /// The number of the line's colour.
    pub(super) colour: usize,
    /// True if the line is thin and faint in the background, for the extremes around a mean.
    pub(super) is_faint: bool,
}

/// The area around a line.
pub(super) struct Band {
    /// The ends of the area at each x: (x, low, high).
    pub(super) ends: Vec<(f64, f64, f64)>,
    /// The number of the line's colour.
    pub(super) colour: usize,
}

impl Plot {
    /// Lets the vertical axis begin at 0 and cover all points.
    pub(super) fn begin_at_zero(&mut self) {
        let values = self.lines.iter().flat_map(|line| &line.points).map(|point| point.1);
        self.y.scale = Scale::covering(values, true);
    }

    /// Creates a plot from lines; returns `None` if there are no points.
    pub(super) fn of(title: &str, (x_name, y_name): (&str, &str), lines: Vec<Line>) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        points().next()?;
        let last = points().map(|point| point.0).fold(0.0, f64::max);
        let x = Scale::covering(points().map(|point| point.0), true).ended_at(last);
        let y = Scale::covering(points().map(|point| point.1), false);
        Some(Self {
            title: title.to_owned(),
            x: Axis { name: x_name.to_owned(), scale: x },
            y: Axis { name: y_name.to_owned(), scale: y },
            bands: Vec::new(),
            lines,
            front: None,
        })
    }

    /// Renders the plot as SVG.
    pub(super) fn svg(&self) -> Result<String, ReportError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| ReportError::Plot(error.to_string()))?;
        let label = format!("<svg role=\"img\" aria-label=\"{}\" ", super::html::Escaped(&self.title));
        Ok(svg.replacen("<svg ", &label, 1))
    }

    fn draw(&self, svg: &mut String) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let area = SVGBackend::with_string(svg, (WIDTH as u32, HEIGHT as u32)).into_drawing_area();
        self.draw_axes(&area)?;
        for band in &self.bands {
            let lower = band.ends.iter().map(|(x, low, _)| self.place((*x, *low)));
            let upper = band.ends.iter().rev().map(|(x, _, high)| self.place((*x, *high)));
            let style = colours::line(band.colour).mix(BAND_OPACITY).filled();
            area.draw(&Polygon::new(lower.chain(upper).collect::<Vec<_>>(), style))?;
        }
        if let Some(front) = &self.front {
            let corners: Vec<(i32, i32)> = front.line.iter().map(|corner| self.place(*corner)).collect();
            area.draw(&PathElement::new(corners, colours::axis().stroke_width(THIN)))?;
            for place in &front.places {
                let ring = colours::text().stroke_width(STRONG);
                area.draw(&Circle::new(self.place(*place), 7 * PIXEL, ring))?;
            }
        }
        let has_marks = self.lines.iter().all(|line| line.points.len() <= MARKS_MAX);
        for line in &self.lines {
            let colour = colours::line(line.colour);
            let points: Vec<(i32, i32)> = line.points.iter().map(|point| self.place(*point)).collect();
            if line.is_faint {
                area.draw(&PathElement::new(points, colour.mix(0.55).stroke_width(THIN)))?;
                continue;
            }
            if has_marks {
                for point in &points {
                    area.draw(&Circle::new(*point, 3 * PIXEL, colour.filled()))?;
                }
            }
            area.draw(&PathElement::new(points, colour.stroke_width(STRONG)))?;
        }
        area.present()
    }

    fn draw_axes(&self, area: &Area<'_>) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let (left, right, top, bottom) = MARGINS;
        let (right, bottom) = (WIDTH - right, HEIGHT - bottom);
        let words = colours::text();
        let style = |size: f64, h, v| {
            TextStyle::from(("sans-serif", size).into_font()).color(&words).pos(Pos::new(h, v))
        };
        for tick in self.y.scale.ticks() {
            let y = self.place((self.x.scale.low, tick)).1;
            area.draw(&PathElement::new(vec![(left, y), (right, y)], colours::grid().stroke_width(THIN)))?;
            let text = quantity::tick(tick, self.y.scale.step);
            area.draw(&Text::new(text, (left - 9 * PIXEL, y), style(NUMBERS, HPos::Right, VPos::Center)))?;
        }
        for tick in self.x.scale.ticks() {
            let x = self.place((tick, self.y.scale.low)).0;
            area.draw(&PathElement::new(
                vec![(x, bottom), (x, bottom + 5 * PIXEL)],
                colours::axis().stroke_width(THIN),
            ))?;
            let text = quantity::tick(tick, self.x.scale.step);
            area.draw(&Text::new(text, (x, bottom + 9 * PIXEL), style(NUMBERS, HPos::Center, VPos::Top)))?;
        }
        area.draw(&PathElement::new(
            vec![(left, bottom), (right, bottom)],
            colours::axis().stroke_width(THIN),
        ))?;
        let middle = ((left + right) / 2, HEIGHT - 5 * PIXEL);
        area.draw(&Text::new(self.x.name.clone(), middle, style(NAMES, HPos::Center, VPos::Bottom)))?;
        let turned = ("sans-serif", NAMES).into_font().transform(FontTransform::Rotate270);
        let turned = TextStyle::from(turned).color(&words).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(self.y.name.clone(), (3 * PIXEL, (top + bottom) / 2), turned))
    }

    /// Returns the position of a point in units. A point beyond the scale moves to the nearest position at the edge.
    fn place(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let (left, right, top, bottom) = MARGINS;
        let share =
            |scale: &Scale, value: f64| ((value - scale.low) / (scale.high - scale.low)).clamp(0.0, 1.0);
        let across = share(&self.x.scale, x) * f64::from(WIDTH - left - right);
        let up = share(&self.y.scale, y) * f64::from(HEIGHT - top - bottom);
        (left + across.round() as i32, HEIGHT - bottom - up.round() as i32)
    }
}
