use std::ops::RangeInclusive;

/// The quantile of the normal distribution for an interval of 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;
/// The number of halvings of an interval that contains an end: enough for all digits.
const HALVINGS: usize = 60;

/// Returns the 95 % confidence interval of an area under the curve: the areas from which the found one is at most 1.96
/// standard errors away. The standard error is computed at each tested area (Hanley and McNeil 1982, "The meaning and
/// use of the area under a receiver operating characteristic (ROC) curve", equation 1, with the exponential model of
/// equation 2), so that the interval is not empty at 1 (Newcombe 2006, "Confidence intervals for an effect size measure
/// based on the Mann-Whitney statistic", part 2).
pub fn interval(auc: f64, with: usize, without: usize) -> RangeInclusive<f64> {
    let is_inside = |area: f64| (auc - area).abs() <= QUANTILE * standard_error(area, with, without);
    // The found area is inside, unless its own standard error is 0, and the ends 0 and 1 are not, unless they are found.
    let end = |outer: f64| {
        let (mut inside, mut outside) = (auc, outer);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, outside);
            if is_inside(middle) { inside = middle } else { outside = middle }
        }
        inside
    };
    end(0.0)..=end(1.0)
}

fn standard_error(area: f64, with: usize, without: usize) -> f64 {
    let (with, without) = (with.max(1) as f64, without.max(1) as f64);
    let square = area * area;
    let of_two_with = area / (2.0 - area) - square;
    let of_two_without = 2.0 * square / (1.0 + area) - square;
    let variance = area * (1.0 - area) + (with - 1.0) * of_two_with + (without - 1.0) * of_two_without;
    (variance.max(0.0) / (with * without)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_exact_where_nothing_is_known() {
        // For guesses by chance, the variance of the area is (m + n + 1) / 12mn (Mann and Whitney 1947).
        for (with, without) in [(10, 10), (51, 58), (1, 200)] {
            let exact = (with + without + 1) as f64 / (12 * with * without) as f64;
            assert!((standard_error(0.5, with, without).powi(2) - exact).abs() < 1e-15);
        }
        // By hand: Q1 = 0.8 / 1.2 and Q2 = 1.28 / 1.8, so the variance is (0.16 + 1 · (Q1 − 0.64) + 2 · (Q2 − 0.64)) / 6.
        let by_hand = (0.16 + (2.0 / 3.0 - 0.64) + 2.0 * (1.28 / 1.8 - 0.64)) / 6.0;
        assert!((standard_error(0.8, 2, 3).powi(2) - by_hand).abs() < 1e-15);
    }

    #[test]
    fn an_interval_contains_its_area_and_is_not_empty_at_the_ends() {
        for (auc, width) in [(0.5, 0.113), (0.9, 0.06), (1.0, 0.03)] {
            let found = interval(auc, 100, 100);
            assert!(found.contains(&auc) && *found.start() >= 0.0 && *found.end() <= 1.0, "{found:?}");
            assert!(
                (found.end() - found.start()) < 2.5 * width && found.end() - found.start() > 0.01,
                "{found:?}"
            );
        }
        let (many, few) = (interval(0.7, 1000, 1000), interval(0.7, 10, 10));
        assert!(few.start() < many.start() && many.end() < few.end());
        // The interval of one area is the mirrored interval of the opposite area.
        let (one, other) = (interval(0.8, 30, 30), interval(0.2, 30, 30));
        assert!((one.start() - (1.0 - other.end())).abs() < 1e-9, "{one:?} {other:?}");
    }
}
