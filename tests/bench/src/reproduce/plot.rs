/// An experiment's plot: panels side by side with a common legend.
#[derive(Default)]
pub struct Plot {
    pub x: &'static str,
    pub y: &'static str,
    /// True if values are shares. They are shown in percent.
    pub is_share: bool,
    /// True if x is a base-2 logarithm. The axis then shows the power of 2.
    pub x_is_doubling: bool,
    pub panels: Vec<Panel>,
}

/// One panel of a plot.
pub struct Panel {
    pub title: String,
    pub lines: Vec<Line>,
}

/// A line of means with confidence intervals.
#[derive(Clone)]
pub struct Line {
    pub name: String,
    /// Each point's x, mean, and half-width of the 95 % interval.
    pub points: Vec<(f64, f64, f64)>,
}

/// The range of an axis, with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub step: f64,
}

impl Scale {
    /// Creates a scale that contains the values and has about five ticks. Its step is 1, 2 or 5 times a power of ten.
    pub fn covering(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let width = if high > low { high - low } else { 1.0 };
        let rough = width / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
        Self { low: (low / step).floor() * step, high: ((low + width) / step).ceil() * step, step }
    }

    /// Returns the ticks.
    pub fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count).map(|tick| self.low + tick as f64 * self.step).collect()
    }

    /// Returns the position of a value on the axis, from 0 to 1. Values outside the range are clamped.
    pub fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Formats a tick multiplied by `factor`, with as many decimals as the step needs.
    pub fn show(&self, tick: f64, factor: f64) -> String {
        let decimals = (-(self.step * factor).log10().floor()).max(0.0) as usize;
        format!("{:.decimals$}", tick * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_round_steps_and_covers_its_values() {
        let scale = Scale::covering([3.0, 97.0].into_iter());
        assert_eq!(scale, Scale { low: 0.0, high: 100.0, step: 20.0 });
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((scale.share(50.0), scale.share(200.0)), (0.5, 1.0));
        assert_eq!(Scale::covering([0.42, 0.81].into_iter()).show(0.5, 1.0), "0.5");
        assert_eq!(Scale::covering([0.42, 0.81].into_iter()).show(0.5, 100.0), "50");
        assert_eq!(Scale::covering(std::iter::empty()).high, 1.0);
    }
}
