//! Rényi divergence of the Poisson-sampled Gaussian mechanism.
//!
//! Mironov, Talwar and Zhang 2019, "Rényi differential privacy of the sampled Gaussian mechanism": with
//! A(α) = E[((1 − q) + q·exp((2x − 1)/(2z²)))^α] over x ~ N(0, z²), the curve is ln A(α) / (α − 1). The other
//! direction is never larger (their theorem 5). This module computes A(α) − 1 as a sum of positive terms. Nothing
//! cancels, so the curve keeps its digits even when q is 1e-9 and A differs from 1 by 1e-18.

use super::special::{ln_add, ln_exp_minus_one};

/// The largest integer order that may be computed by the binomial sum. The sum is used only if it has fewer terms than
/// the quadrature.
const BINOMIAL_ORDER_MAX: f64 = 1024.0;

/// The maximum number of quadrature points. An order that needs more is bounded without amplification, which is sound.
const POINTS_MAX: f64 = 16_384.0;

/// The number of standard deviations beyond which the integrand's tail is negligible.
const TAIL: f64 = 12.0;

/// Computes the Rényi divergence of one step at `order`, with sampling rate `q` and noise multiplier `z`.
///
/// At an order far above those that determine any epsilon at this noise, the computation would take too long. For such
/// an order, this returns the divergence without sampling, which is never smaller.
pub(crate) fn divergence(order: f64, q: f64, z: f64) -> f64 {
    let unsampled = order / (2.0 * z * z);
    if q == 1.0 {
        return unsampled;
    }
    let points = (order + 2.0 * TAIL * z) / step(z);
    let is_integer = order.fract() == 0.0 && order <= BINOMIAL_ORDER_MAX;
    let ln_excess = if is_integer && (order < points || points > POINTS_MAX) {
        ln_excess_by_binomial_sum(order, q, z)
    } else if points <= POINTS_MAX {
        ln_excess_by_quadrature(order, q, z)
    } else {
        return unsampled;
    };
    (ln_one_plus_exp(ln_excess) / (order - 1.0)).min(unsampled)
}

/// Returns ln(1 + e^x).
fn ln_one_plus_exp(x: f64) -> f64 {
    if x > 37.0 { x } else { x.exp().ln_1p() }
}

/// Computes ln(A(α) − 1) for an integer α: ln of the sum over i ≥ 2 of
/// C(α, i)(1 − q)^(α − i) q^i (e^((i² − i)/(2z²)) − 1).
///
/// This is equation 10 of the paper, minus the binomial expansion of 1.
pub(crate) fn ln_excess_by_binomial_sum(order: f64, q: f64, z: f64) -> f64 {
    let (ln_q, ln_rest) = (q.ln(), (-q).ln_1p());
    let mut ln_coefficient = order.ln();
    let mut ln_sum = f64::NEG_INFINITY;
    for i in 2..=order as u32 {
        let i = f64::from(i);
        ln_coefficient += ((order - i + 1.0) / i).ln();
        let ln_moment = ln_exp_minus_one((i * i - i) / (2.0 * z * z));
        ln_sum = ln_add(ln_sum, ln_coefficient + (order - i) * ln_rest + i * ln_q + ln_moment);
    }
    ln_sum
}

/// Computes ln(A(α) − 1) for any α by the trapezoidal rule over (1 + v)^α − 1 − αv with v = q·(e^((2x−1)/(2z²)) − 1).
///
/// The mean of v is 0, so the integral is A(α) − 1. The integrand is never negative (Bernoulli's inequality).
pub(crate) fn ln_excess_by_quadrature(order: f64, q: f64, z: f64) -> f64 {
    let step = step(z);
    let first = (-TAIL * z / step).floor() as i64;
    let last = ((order + TAIL * z) / step).ceil() as i64;
    let terms: Vec<f64> = (first..=last)
        .map(|k| {
            let x = k as f64 * step;
            ln_convex_gap(order, q, (2.0 * x - 1.0) / (2.0 * z * z)) - x * x / (2.0 * z * z)
        })
        .collect();
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|term| (term - largest).exp()).sum();
    largest + sum.ln() + (step / (z * (2.0 * std::f64::consts::PI).sqrt())).ln()
}

/// Returns the distance between the points of the trapezoidal rule.
///
/// The integrand is analytic in a strip around the real line, up to the branch points at imaginary part π·z². For a
/// line at imaginary part y inside the strip, the rule's relative error is about exp(y²/(2z²) − 2πy/step). The returned
/// step makes this error e^-38.
fn step(z: f64) -> f64 {
    let line = (0.9 * std::f64::consts::PI * z).min(8.0);
    2.0 * std::f64::consts::PI * line * z / (38.0 + line * line / 2.0)
}

/// Computes ln((1 + v)^order − 1 − order·v) with v = q·(e^loss − 1).
fn ln_convex_gap(order: f64, q: f64, loss: f64) -> f64 {
    if loss > 600.0 {
        return order * (loss + q.ln());
    }
    let v = q * loss.exp_m1();
    if v.abs() * order < 0.1 {
        return gap_by_series(order, v).ln();
    }
    let ln_power = order * v.ln_1p();
    if ln_power > 37.0 {
        return ln_power + (-(1.0 + order * v) * (-ln_power).exp()).ln_1p();
    }
    (ln_power.exp_m1() - order * v).ln()
}

/// Computes (1 + v)^order − 1 − order·v by its Taylor series, for |v|·order below 0.1.
fn gap_by_series(order: f64, v: f64) -> f64 {
    let mut term = order * v;
    let mut sum = 0.0;
    for j in 1..24 {
        let j = f64::from(j);
        term *= (order - j) * v / (j + 1.0);
        sum += term;
        if term.abs() <= 1e-18 * sum {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_at_integer_orders() {
        for q in [1e-9, 1e-3, 0.2, 0.9] {
            for z in [0.3, 0.8, 1.0, 4.0, 100.0, 1e4] {
                for order in [2.0, 3.0, 7.0, 32.0, 200.0] {
                    let sum = ln_excess_by_binomial_sum(order, q, z);
                    let quadrature = ln_excess_by_quadrature(order, q, z);
                    assert!(
                        (sum - quadrature).abs() < 1e-9 * sum.abs().max(1.0),
                        "{q} {z} {order}: {sum} {quadrature}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_gap_is_continuous_between_its_three_forms() {
        for order in [1.0001, 1.5, 10.0, 1000.0] {
            for v in [0.1 / order, 2.0, 37f64.exp().powf(1.0 / order) - 1.0] {
                let below = ln_convex_gap(order, 1.0, (v * (1.0 - 1e-9)).ln_1p());
                let above = ln_convex_gap(order, 1.0, (v * (1.0 + 1e-9)).ln_1p());
                assert!((below - above).abs() < 1e-5 * below.abs().max(1.0), "{order} {v}: {below} {above}");
            }
        }
    }

    #[test]
    fn a_tiny_rate_keeps_its_digits() {
        // For q → 0 the divergence of order 2 is q²·(e^(1/z²) − 1).
        let exact = 1e-18 * 1f64.exp_m1();
        assert!((divergence(2.0, 1e-9, 1.0) / exact - 1.0).abs() < 1e-8);
        let exact = 1e-18 * 1e-8f64.exp_m1();
        assert!((divergence(2.0, 1e-9, 1e4) / exact - 1.0).abs() < 1e-8);
    }
}
