//! The loss over the steps of a local training, as an SVG.

use crate::cli::chart::{Chart, ChartError};

/// Draws points of (step, loss).
///
/// # Errors
/// [`ChartError`] if the library refuses; the SVG is made in memory.
pub fn loss_svg(curve: &[(u64, f64)]) -> Result<String, ChartError> {
    let points: Vec<(f64, f64)> = curve.iter().map(|(step, loss)| (*step as f64, *loss)).collect();
    let finite = points.iter().map(|point| point.1).filter(|loss| loss.is_finite());
    let highest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let caption = format!("Loss over {} steps", curve.last().map_or(0, |point| point.0));
    let decimals = if highest < 10.0 { 2 } else { 0 };
    Chart { caption, x: "steps", y: "loss", range: 0.0..1.05 * highest, decimals, points: &points }.svg()
}
