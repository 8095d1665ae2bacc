//! The chart of the loss over the steps of a local training, as SVG.

use folkmoot_engine::Metrics;
use folkmoot_simulation::chart::{Chart, ChartError};

/// The metric sums of a training at some of its steps.
#[derive(Default)]
pub struct Curve {
    sums: Vec<Metrics>,
}

impl Curve {
    /// Adds the metric sums of all steps so far. If the training was restored to an earlier step, discards the points
    /// after that step.
    pub fn add(&mut self, sums: Metrics) {
        self.sums.retain(|earlier| earlier.step_count < sums.step_count);
        self.sums.push(sums);
    }

    /// Returns the points as (step, mean loss of the examples since the previous point).
    pub fn points(&self) -> Vec<(u64, f64)> {
        let mut before = Metrics::default();
        let point = |sums: &Metrics| {
            let examples = sums.example_count - before.example_count;
            let loss = (sums.loss_sum - before.loss_sum) / examples as f64;
            before = *sums;
            (sums.step_count, loss)
        };
        self.sums.iter().map(point).collect()
    }
}

/// Draws points of (step, loss).
///
/// # Errors
/// [`ChartError`] if the plotting library fails.
pub fn loss_svg(curve: &[(u64, f64)]) -> Result<String, ChartError> {
    let points: Vec<(f64, f64)> = curve.iter().map(|(step, loss)| (*step as f64, *loss)).collect();
    let finite = points.iter().map(|point| point.1).filter(|loss| loss.is_finite());
    let highest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let caption = format!("Loss over {} steps", curve.last().map_or(0, |point| point.0));
    let decimals = if highest < 10.0 { 2 } else { 0 };
    Chart { caption, x: "steps", y: "loss", range: 0.0..1.05 * highest, decimals, points: &points }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_mean_since_the_one_before() {
        let sums = |step_count, example_count, loss_sum| Metrics {
            example_count,
            loss_sum,
            correct_count: 0,
            step_count,
        };
        let mut curve = Curve::default();
        curve.add(sums(2, 10, 20.0));
        curve.add(sums(4, 15, 25.0));
        assert_eq!(curve.points(), [(2, 2.0), (4, 1.0)]);
        curve.add(sums(3, 12, 26.0));
        assert_eq!(curve.points(), [(2, 2.0), (3, 3.0)]);
    }
}
