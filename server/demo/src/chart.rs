//! The chart of the accuracy over the rounds, as SVG.

use folkmoot_simulation::chart::{Chart, ChartError};

use super::report::Report;

/// Draws the held-out accuracy in percent over the number of committed rounds.
///
/// # Errors
/// [`ChartError`] if the plotting library fails.
pub fn accuracy_svg(report: &Report) -> Result<String, ChartError> {
    let accuracies = report.accuracies();
    let points: Vec<(f64, f64)> =
        accuracies.iter().enumerate().map(|(round, accuracy)| (round as f64, 100.0 * accuracy)).collect();
    let settings = &report.settings;
    let caption = format!(
        "Digits over {} clients, {} in each round: {:.1} % after {} rounds",
        settings.clients,
        settings.cohort,
        100.0 * report.accuracy,
        report.rounds
    );
    let (x, y) = ("committed rounds", "held-out accuracy [%]");
    Chart { caption, x, y, range: 0.0..100.0, decimals: 0, points: &points }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_report;

    /// Returns whether all elements of `svg` are closed in order.
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
