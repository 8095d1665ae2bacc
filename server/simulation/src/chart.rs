//! Draws a line chart over numbered steps as SVG.

use std::ops::Range;

use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 480);
const LINE: RGBColor = RGBColor(31, 90, 166);
const GREY: RGBColor = RGBColor(90, 90, 90);
/// The font sizes in pixels: title, axis names, numbers.
const FONT_SIZES: (u32, u32, u32) = (24, 18, 16);
/// The maximum number of points of a line whose points are marked with circles.
const MARKS_MAX: usize = 1_000;

/// An error of the plotting library.
pub type ChartError = DrawingAreaErrorKind<std::io::Error>;

/// A line chart.
pub struct Chart<'a> {
    /// The title.
    pub caption: String,
    /// The name of the horizontal axis, which starts at 0.
    pub x: &'a str,
    /// The name of the vertical axis.
    pub y: &'a str,
    /// The range of the vertical axis.
    pub range: Range<f64>,
    /// The number of decimals on the vertical axis.
    pub decimals: usize,
    /// The points of the line, as (x, y).
    pub points: &'a [(f64, f64)],
}

impl Chart<'_> {
    /// Returns the chart as SVG.
    ///
    /// # Errors
    /// [`ChartError`] if the plotting library fails.
    pub fn svg(&self) -> Result<String, ChartError> {
        let mut svg = String::new();
        self.draw(&mut svg)?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), ChartError> {
        let last = self.points.last().map_or(1.0, |point| point.0).max(1.0);
        let (title, names, numbers) = FONT_SIZES;
        let font = |size: u32| ("sans-serif", size).into_font();
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .caption(&self.caption, font(title))
            .x_label_area_size(56)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..last, self.range.clone())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(last.clamp(1.0, 10.0) as usize + 1)
            .x_label_formatter(&|step| format!("{step:.0}"))
            .y_label_formatter(&|value| format!("{value:.*}", self.decimals))
            .axis_desc_style(font(names))
            .label_style(font(numbers))
            .axis_style(GREY)
            .bold_line_style(GREY.mix(0.25))
            .light_line_style(TRANSPARENT)
            .draw()?;
        chart.draw_series(LineSeries::new(self.points.iter().copied(), LINE.stroke_width(2)))?;
        if self.points.len() <= MARKS_MAX {
            chart.draw_series(self.points.iter().map(|&point| Circle::new(point, 3, LINE.filled())))?;
        }
        area.present()
    }
}
