//! Axes whose ends and ticks are round numbers.

/// The maximum number of ticks of an axis.
const TICKS_MAX: usize = 6;

/// The range of an axis, and the distance between its ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) step: f64,
}

impl Scale {
    /// Creates the smallest scale that contains `values` and has a tick at both ends.
    ///
    /// With `includes_zero`, the axis begins at 0 if no value is negative. Values that are not finite are ignored.
    pub(super) fn covering(values: impl Iterator<Item = f64>, includes_zero: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if includes_zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        // Even for a single value the axis needs some length, large enough to be visible in the digits of the value.
        let length = (high - low).max(1e-9 * high.abs().max(low.abs())).max(1e-12);
        let step = round_step(length / (TICKS_MAX - 1) as f64);
        let low = (low / step + 1e-9).floor() * step;
        let mut end = (high / step - 1e-9).ceil() * step;
        if end <= low {
            end = low + step;
        }
        Scale { low, high: end, step }
    }

    /// Returns the scale clipped to a range; for example, a share is at most 100 %.
    pub(super) fn within(self, low: f64, high: f64) -> Self {
        let clipped = Scale { low: self.low.max(low), high: self.high.min(high), ..self };
        if clipped.low < clipped.high { clipped } else { self }
    }

    /// Returns the scale with its upper end at `high` instead of the next tick.
    pub(super) fn ended_at(self, high: f64) -> Self {
        if high > self.low { Scale { high, ..self } } else { self }
    }

    /// Returns the ticks from one end to the other.
    pub(super) fn ticks(self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step + 1e-6).floor() as usize;
        (0..=count.min(4 * TICKS_MAX)).map(|place| self.low + place as f64 * self.step).collect()
    }
}

/// Returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_are_round() {
        let scale = Scale::covering([0.13, 0.87].into_iter(), false);
        assert!((scale.low - 0.0).abs() < 1e-12 && (scale.high - 1.0).abs() < 1e-12, "{scale:?}");
        assert_eq!(scale.ticks().len(), 6);
        let scale = Scale::covering([92.0, 97.0].into_iter(), true);
        assert_eq!((scale.low, scale.high, scale.step), (0.0, 100.0, 20.0));
        assert_eq!(Scale::covering([f64::NAN].into_iter(), false).low, 0.0);
        let scale = Scale::covering([97.0, 101.0].into_iter(), false).within(0.0, 100.0);
        assert_eq!((scale.low, scale.high), (97.0, 100.0));
    }

    proptest! {
        #[test]
        fn every_value_is_covered_by_few_ticks(a in -1e9f64..1e9, log_length in -12.0f64..20.0, zero: bool) {
            let b = a + log_length.exp();
            let scale = Scale::covering([a, b].into_iter(), zero);
            let slack = 1e-6 * scale.step;
            prop_assert!(scale.low <= a + slack && b <= scale.high + slack, "{:?}", scale);
            prop_assert!((2..=TICKS_MAX + 2).contains(&scale.ticks().len()), "{:?}", scale);
        }
    }
}
