//! Rényi divergence of the Gaussian mechanism on a cohort of fixed size, drawn without replacement.
//!
//! Wang, Balle and Kasiviswanathan 2019, "Subsampled Rényi differential privacy and analytical moments accountant",
//! theorem 27, for the relation [`ReplaceOne`](crate::Relation::ReplaceOne). With γ = cohort / population:
//! (α − 1)·ε'(α) ≤ ln(1 + Σ_{j=2..α} γ^j C(α, j) M_j), where M_2 = min(4(e^ε(2) − 1), 2e^ε(2)) and
//! M_j = min(4·√(B(2⌊j/2⌋)·B(2⌈j/2⌉)), 2e^((j−1)ε(j))) for j ≥ 3.
//!
//! B(l) is the l-th forward difference of i ↦ e^((i−1)ε(i)) at 0. For the Gaussian mechanism it is
//! E[(e^((2x−1)/(2z²)) − 1)^l] over x ~ N(0, z²). Only even l are needed: the integrand is then positive, and the
//! trapezoidal rule gives all digits, while the differences themselves would cancel.

use super::special::{ln_add, ln_exp_minus_one};

/// The largest order at which the differences B are computed. Above it, each M_j is bounded by 2e^((j−1)ε(j)) alone.
const DIFFERENCE_ORDER_MAX: u32 = 256;

/// The largest order at which amplification is computed. Above it, the unamplified bound is used, which is sound.
const ORDER_MAX: f64 = 8192.0;

/// Computes the divergences of one step at `orders`, which are never above those without sampling.
///
/// `rate` is cohort / population. The noise multiplier `z` is relative to the replace-one sensitivity, which is two
/// clipping norms.
pub(crate) fn divergences(orders: &[f64], rate: f64, z: f64) -> Vec<f64> {
    if rate == 1.0 {
        return orders.iter().map(|order| order / (2.0 * z * z)).collect();
    }
    let needed = orders.iter().copied().filter(|order| *order <= f64::from(DIFFERENCE_ORDER_MAX));
    let highest = needed.fold(2.0, f64::max).ceil() as u32;
    let differences: Vec<f64> =
        (0..=highest.div_ceil(2)).map(|half| ln_even_difference(2 * half, z)).collect();
    let bounded = |&order: &f64| divergence(order, rate, z, &differences).min(order / (2.0 * z * z));
    orders.iter().map(bounded).collect()
}

/// Computes the divergence at one order, by linear interpolation of (α − 1)·ε'(α), which is convex in α.
fn divergence(order: f64, rate: f64, z: f64, differences: &[f64]) -> f64 {
    if order > ORDER_MAX {
        return f64::INFINITY;
    }
    let low = order.floor();
    let share = order - low;
    let above = if share > 0.0 { share * cumulant(low + 1.0, rate, z, differences) } else { 0.0 };
    let below = if share < 1.0 { (1.0 - share) * cumulant(low, rate, z, differences) } else { 0.0 };
    (below + above) / (order - 1.0)
}

/// Computes the bound on (α − 1)·ε'(α) for an integer order.
fn cumulant(order: f64, rate: f64, z: f64, differences: &[f64]) -> f64 {
    if order == 1.0 {
        return 0.0;
    }
    let per_order = 1.0 / (2.0 * z * z);
    let mut ln_coefficient = order.ln();
    let mut ln_sum = f64::NEG_INFINITY;
    for j in 2..=order as u32 {
        let k = f64::from(j);
        ln_coefficient += ((order - k + 1.0) / k).ln();
        let simple = 2f64.ln() + k * (k - 1.0) * per_order;
        let ln_moment = if j == 2 {
            simple.min(4f64.ln() + ln_exp_minus_one(2.0 * per_order))
        } else if order <= f64::from(DIFFERENCE_ORDER_MAX) {
            let [low, high] = [j / 2, j.div_ceil(2)].map(|half| differences[half as usize]);
            simple.min(4f64.ln() + 0.5 * (low + high))
        } else {
            simple
        };
        ln_sum = ln_add(ln_sum, k * rate.ln() + ln_coefficient + ln_moment);
    }
    ln_add(0.0, ln_sum)
}

/// Computes ln E[(e^((2x−1)/(2z²)) − 1)^power] over x ~ N(0, z²), for an even power. The integrand is entire.
fn ln_even_difference(power: u32, z: f64) -> f64 {
    if power == 0 {
        return 0.0;
    }
    let power = f64::from(power);
    // At the imaginary part y, the integrand is at most e^(y²/(2z²)) times as large as on the real line, where it is
    // shifted. So a step of z/2 has the relative error e^(−8π²): all digits are right.
    let step = 0.5 * z;
    let first = (-12.0 * z / step).floor() as i64;
    let last = ((power + 12.0 * z) / step).ceil() as i64;
    let term = |k: i64| {
        let x = k as f64 * step;
        let loss = (2.0 * x - 1.0) / (2.0 * z * z);
        let ln_base = if loss > 37.0 { loss } else { loss.exp_m1().abs().ln() };
        power * ln_base - x * x / (2.0 * z * z)
    };
    let largest = (first..=last).map(term).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (first..=last).map(|k| (term(k) - largest).exp()).sum();
    largest + sum.ln() + (step / (z * (2.0 * std::f64::consts::PI).sqrt())).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_differences_are_those_of_their_definition() {
        for z in [0.7f64, 1.5, 4.0] {
            let moment = |i: f64| ((i * i - i) / (2.0 * z * z)).exp();
            let second = moment(2.0) - 2.0 * moment(1.0) + moment(0.0);
            let fourth =
                moment(4.0) - 4.0 * moment(3.0) + 6.0 * moment(2.0) - 4.0 * moment(1.0) + moment(0.0);
            assert!((ln_even_difference(2, z) - second.ln()).abs() < 1e-12, "{z}");
            assert!((ln_even_difference(4, z) - fourth.ln()).abs() < 1e-10, "{z}");
        }
    }

    #[test]
    fn the_whole_population_is_not_amplified() {
        assert_eq!(divergences(&[2.0, 3.5], 1.0, 2.0), [0.25, 0.4375]);
    }

    #[test]
    fn the_interpolation_meets_both_ends() {
        let [at_two, between, at_three] = divergences(&[2.0, 2.5, 3.0], 0.01, 1.0)[..] else { panic!() };
        assert!((between * 1.5 - 0.5 * (at_two + 2.0 * at_three)).abs() < 1e-15);
    }
}
