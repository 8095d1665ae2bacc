/// An exact sum of float64 numbers. The result is rounded once, so it does not depend on the order.
///
/// Keeps the sum as numbers that do not overlap (Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic", the
/// algorithm Grow-Expansion). The numbers must be finite, and so must their sum in any order.
#[derive(Clone, Debug, Default)]
pub struct FloatSum {
    /// The parts, in increasing order of magnitude.
    parts: Vec<f64>,
}

impl FloatSum {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        let mut carry = number;
        let mut kept = 0;
        for index in 0..self.parts.len() {
            let (high, low) = two_sum(carry, self.parts[index]);
            if low != 0.0 {
                self.parts[kept] = low;
                kept += 1;
            }
            carry = high;
        }
        self.parts.truncate(kept);
        if carry != 0.0 {
            self.parts.push(carry);
        }
    }

    /// Returns the sum, rounded to the nearest float64, ties to even.
    pub fn value(&self) -> f64 {
        let mut parts = self.parts.iter().rev().copied();
        let Some(mut high) = parts.next() else { return 0.0 };
        while let Some(part) = parts.next() {
            let (sum, low) = two_sum(high, part);
            high = sum;
            if low != 0.0 {
                // If `low` is half a unit in the last place, the parts below it decide how to round.
                let below = parts.next().unwrap_or(0.0);
                let (away, left) = two_sum(high, 2.0 * low);
                return if below * low > 0.0 && left == 0.0 { away } else { high };
            }
        }
        high
    }
}

/// Returns the rounded sum of two numbers, and the rounding error (Knuth).
fn two_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let virtual_other = sum - one;
    let error = (one - (sum - virtual_other)) + (other - virtual_other);
    (sum, error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(numbers: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = FloatSum::default();
        numbers.into_iter().for_each(|number| sum.add(number));
        sum.value()
    }

    #[test]
    fn nothing_is_lost_between_large_and_small_numbers() {
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum([0.1; 10]), 1.0);
        assert_eq!(sum([1e300, 1e-300, -1e300]), 1e-300);
        // Half a unit in the last place: ties go to even, and the smallest part decides.
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum([1.0, half]), 1.0);
        assert_eq!(sum([1.0, half, 1e-200]), 1.0 + f64::EPSILON);
        assert_eq!(sum([1.0, half, -1e-200]), 1.0);
        assert_eq!(sum([1.0 + f64::EPSILON, half]), 1.0 + 2.0 * f64::EPSILON);
    }

    proptest! {
        /// Integers below 2^53 are exact in float64, so an i128 is the reference.
        #[test]
        fn any_order_gives_the_exact_sum(
            numbers in prop::collection::vec((-(1i64 << 53)..1 << 53, 0u32..60), 0..60), turn in 0usize..60,
        ) {
            let exact: i128 = numbers.iter().map(|(number, shift)| i128::from(*number) << shift).sum();
            let mut floats: Vec<f64> =
                numbers.iter().map(|(number, shift)| *number as f64 * f64::from(*shift).exp2()).collect();
            prop_assert_eq!(sum(floats.clone()), exact as f64);
            let turn = turn.min(floats.len());
            floats.rotate_left(turn);
            prop_assert_eq!(sum(floats.clone()), exact as f64);
            floats.reverse();
            prop_assert_eq!(sum(floats), exact as f64);
        }
    }
}
