//! The accuracy over the rounds, as an SVG.

use plotters::prelude::*;

use super::report::Report;

const SIZE: (u32, u32) = (800, 480);
const LINE: RGBColor = RGBColor(31, 90, 166);
const GREY: RGBColor = RGBColor(90, 90, 90);
/// The fonts' sizes in pixels: title, axis names, numbers.
const FONT_SIZES: (u32, u32, u32) = (24, 18, 16);

/// Why there is no chart.
pub type ChartError = DrawingAreaErrorKind<std::io::Error>;

/// Draws held-out accuracy, in percent, over the number of committed rounds.
///
/// # Errors
/// [`ChartError`] if the library refuses; the SVG is made in memory.
pub fn accuracy_svg(report: &Report) -> Result<String, ChartError> {
    let mut svg = String::new();
    draw(report, &mut svg)?;
    Ok(svg)
}

fn draw(report: &Report, svg: &mut String) -> Result<(), ChartError> {
    let points: Vec<(f64, f64)> = report
        .accuracies()
        .iter()
        .enumerate()
        .map(|(round, accuracy)| (round as f64, 100.0 * accuracy))
        .collect();
    let rounds = report.rounds.max(1) as f64;
    let (title, names, numbers) = FONT_SIZES;
    let font = |size: u32| ("sans-serif", size).into_font();

    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let settings = &report.settings;
    let caption = format!(
        "Digits over {} clients, {} in each round: {:.1} % after {} rounds",
        settings.clients,
        settings.cohort,
        100.0 * report.accuracy,
        report.rounds
    );
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .caption(caption, font(title))
        .x_label_area_size(56)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..rounds, 0.0..100.0)?;
    chart
        .configure_mesh()
        .x_desc("committed rounds")
        .y_desc("held-out accuracy [%]")
        .x_labels(report.rounds.clamp(1, 10) as usize + 1)
        .x_label_formatter(&|round| format!("{round:.0}"))
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .axis_desc_style(font(names))
        .label_style(font(numbers))
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .draw()?;
    chart.draw_series(LineSeries::new(points.iter().copied(), LINE.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, LINE.filled())))?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo::report::test_report;

    /// Checks that every element of `svg` is closed, in order.
    fn is_well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        let mut rest = svg;
        while let Some(start) = rest.find('<') {
            let Some(length) = rest[start..].find('>') else { return false };
            let tag = &rest[start + 1..start + length];
            rest = &rest[start + length + 1..];
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
            match (tag.starts_with('/'), tag.ends_with('/') || tag.starts_with(['?', '!'])) {
                (true, _) if open.pop() != Some(name) => return false,
                (false, false) => open.push(name),
                _ => {}
            }
        }
        open.is_empty()
    }

    #[test]
    fn the_svg_is_well_formed_and_names_its_axes() {
        for accuracies in [&[][..], &[0.5], &[0.5, 0.8, 0.9], &[0.93; 300]] {
            let svg = accuracy_svg(&test_report(accuracies)).unwrap();
            assert!(svg.starts_with("<svg") && is_well_formed(&svg), "{svg}");
            for text in ["committed rounds", "held-out accuracy [%]", "Digits over 20 clients"] {
                assert!(svg.contains(text), "{text}");
            }
            assert_eq!(svg.matches("<circle").count(), accuracies.len() + 1);
        }
    }

    #[test]
    fn the_check_itself_finds_what_is_wrong() {
        assert!(is_well_formed("<svg><a x=\"1\"/><b></b></svg>"));
        assert!(!is_well_formed("<svg><b></svg>"));
        assert!(!is_well_formed("<svg"));
    }
}
