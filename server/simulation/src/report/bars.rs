//! Horizontal bars to the left and to the right of 0, as an SVG.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{ReportError, axis::Scale, colours, html::Escaped, quantity};

/// The number of units per pixel, as in a plot.
const PIXEL: i32 = 4;
const WIDTH: i32 = 620 * PIXEL;
/// The height of a bar with the space around it.
const ROW: i32 = 24 * PIXEL;
/// The height of a bar.
const THICKNESS: i32 = 14 * PIXEL;
/// The distances from the edges to the bars: left, right, top, bottom.
const MARGINS: (i32, i32, i32, i32) = (150 * PIXEL, 84 * PIXEL, 8 * PIXEL, 52 * PIXEL);
/// The font size. The library divides it by 1.24.
const WORDS: f64 = 16.5 * PIXEL as f64;

/// The colours of bars to the right and to the left of 0.
const COLOURS: [usize; 2] = [0, 1];

/// Bars below each other.
pub(super) struct Bars {
    /// The label for screen readers.
    pub(super) title: String,
    /// The name of the axis.
    pub(super) name: String,
    /// The name and the value of each bar, from top to bottom. Values are finite.
    pub(super) bars: Vec<(String, f64)>,
}

impl Bars {
    /// Renders the bars as SVG.
    pub(super) fn svg(&self) -> Result<String, ReportError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| ReportError::Plot(error.to_string()))?;
        let label = format!("<svg role=\"img\" aria-label=\"{}\" ", Escaped(&self.title));
        Ok(svg.replacen("<svg ", &label, 1))
    }

    fn draw(&self, svg: &mut String) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let (left, right, top, bottom) = MARGINS;
        let rows = i32::try_from(self.bars.len()).unwrap_or(i32::MAX / ROW).max(1);
        let end = top + rows * ROW;
        let area = SVGBackend::with_string(svg, (WIDTH as u32, (end + bottom) as u32)).into_drawing_area();
        let scale = Scale::covering(self.bars.iter().map(|bar| bar.1), true);
        let place = |value: f64| {
            let share = (value - scale.low) / (scale.high - scale.low);
            left + (share * f64::from(WIDTH - left - right)).round() as i32
        };
        let words = colours::text();
        let style =
            |h, v| TextStyle::from(("sans-serif", WORDS).into_font()).color(&words).pos(Pos::new(h, v));
        for tick in scale.ticks() {
            let x = place(tick);
            area.draw(&PathElement::new(
                vec![(x, top), (x, end)],
                colours::grid().stroke_width(PIXEL as u32),
            ))?;
            let text = quantity::tick(tick, scale.step);
            area.draw(&Text::new(text, (x, end + 7 * PIXEL), style(HPos::Center, VPos::Top)))?;
        }
        let zero = place(0.0);
        for ((name, value), row) in self.bars.iter().zip(0..) {
            let middle = top + row * ROW + ROW / 2;
            let colour = colours::line(COLOURS[usize::from(*value < 0.0)]);
            let (low, high) = (zero.min(place(*value)), zero.max(place(*value)));
            let corners = [(low, middle - THICKNESS / 2), (high, middle + THICKNESS / 2)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            area.draw(&Text::new(
                name.clone(),
                (left - 9 * PIXEL, middle),
                style(HPos::Right, VPos::Center),
            ))?;
            let shown = quantity::number(*value);
            let at = (WIDTH - right + 9 * PIXEL, middle);
            area.draw(&Text::new(shown, at, style(HPos::Left, VPos::Center)))?;
        }
        let ends = vec![(zero, top), (zero, end)];
        area.draw(&PathElement::new(ends, colours::axis().stroke_width(PIXEL as u32)))?;
        let at = ((left + WIDTH - right) / 2, end + bottom - 4 * PIXEL);
        area.draw(&Text::new(self.name.clone(), at, style(HPos::Center, VPos::Bottom)))?;
        area.present()
    }
}
