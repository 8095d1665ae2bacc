//! The composition of one step with itself: a power in the frequency domain, with every error bounded.
//!
//! The losses are tilted before the transform: each probability p at loss l becomes p·e^(λl)/M, where M normalises the
//! sum to 1. After k steps, the tilted distribution is the composed one times e^(λl)/M^k. The tilt moves the losses
//! that decide a delta of 1e-12 to the middle of the transform; without it they would be below its rounding errors.

use rustfft::{FftPlanner, num_complex::Complex};

use super::step::GridLoss;
use crate::accountant::special::exp_or_nothing;

/// The logarithm of the magnitude below which a frequency is set to 0. It is negligible compared with the rounding
/// errors of the other frequencies.
const LN_NOTHING: f64 = -200.0;

/// The window of composed losses and the tilts. They are chosen together with the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// The multiple of the interval at which the window begins.
    pub first: i64,
    /// The number of points, a power of two.
    pub points: usize,
    /// The tilt λ, above 0.
    pub tilt: f64,
    /// A second tilt, for the Chernoff bound on the probability above the window.
    pub tail_tilt: f64,
}

/// The composed loss within a window, and bounds on everything outside it.
pub(super) struct ComposedLoss {
    interval: f64,
    first: i64,
    /// The probability of each loss in the window. A probability that the transform rounds below 0 is set to 0.
    masses: Vec<f64>,
    /// The probability of a loss that is above the window or unbounded.
    beyond: f64,
    /// ln of the bound on the rounding error of the mass at loss l, times e^(λl).
    ln_error: f64,
    /// ln of the bound on the Euclidean norm of all these errors, each times e^(λl).
    ln_error_norm: f64,
    tilt: f64,
}

/// Composes `steps` equal steps.
pub(super) fn compose(step: &GridLoss, steps: u64, window: Window) -> ComposedLoss {
    let count = steps as f64;
    let ln_moment = step.ln_moment(window.tilt);
    let mut values = vec![Complex::new(0.0, 0.0); window.points];
    for (index, (loss, mass)) in step.points().enumerate().filter(|(_, (_, mass))| *mass > 0.0) {
        let place = (step.first + index as i64).rem_euclid(window.points as i64) as usize;
        values[place].re += mass * exp_or_nothing(window.tilt * loss - ln_moment);
    }
    // A single step needs no transform, so it has none of the transform's errors.
    let sensitivity = if steps > 1 { raise_by_transform(&mut values, count) } else { 0.0 };
    let transformed = if steps > 1 { 1.0 / window.points as f64 } else { 1.0 };
    let rounding = f64::EPSILON * ((window.points as f64).log2() + 4.0);
    let error = rounding * (count + 1.0) * sensitivity * transformed;
    let error_norm = if steps > 1 { error_norm(window.points, count) } else { 0.0 };
    let masses = (0..window.points).map(|offset| {
        let multiple = window.first + offset as i64;
        let place = multiple.rem_euclid(window.points as i64) as usize;
        let tilted = values[place].re * transformed;
        if tilted <= 0.0 {
            return 0.0;
        }
        tilted * exp_or_nothing(count * ln_moment - window.tilt * multiple as f64 * step.interval)
    });
    let above = (window.first + window.points as i64) as f64 * step.interval;
    let ln_above = count * step.ln_moment(window.tail_tilt) - window.tail_tilt * above;
    ComposedLoss {
        interval: step.interval,
        first: window.first,
        masses: masses.collect(),
        beyond: ln_above.exp() - (count * (-step.infinity).ln_1p()).exp_m1(),
        ln_error: error.ln() + count * ln_moment,
        ln_error_norm: error_norm.ln() + count * ln_moment,
        tilt: window.tilt,
    }
}

/// Bounds the Euclidean norm of the rounding errors of all composed masses.
///
/// A transform of N points has a relative error of at most 4·ε·log2 N in this norm (Higham 2002, "Accuracy and
/// Stability of Numerical Algorithms", theorem 24.2, where η is below 4·ε), and the masses before and after it have a
/// norm of at most 1. The power multiplies an error before it by at most `count`, and adds one of at most 4·ε·`count`.
fn error_norm(points: usize, count: f64) -> f64 {
    let transform = (points as f64).log2();
    4.0 * f64::EPSILON * (count * (transform + 1.0) + transform)
}

/// Replaces the tilted masses of one step by those of `count` steps: raises their Fourier transform φ to the power
/// `count`. The masses must be real. The inverse transform is not normalised, so the caller must divide the masses by
/// their number.
///
/// Returns Σ |φ|^(count − 1) over all frequencies: the factor by which a small error in φ can grow.
fn raise_by_transform(values: &mut [Complex<f64>], count: f64) -> f64 {
    let points = values.len();
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(points).process(values);
    let mut sensitivity = 0.0;
    // The masses are real, so φ at the mirrored frequency is the complex conjugate.
    for index in 0..=points / 2 {
        let mirrored = (points - index) % points;
        let ln_radius = 0.5 * values[index].norm_sqr().max(f64::MIN_POSITIVE).ln();
        let terms = if mirrored == index { 1.0 } else { 2.0 };
        let ln_power = count * ln_radius;
        let power = if ln_power < LN_NOTHING {
            Complex::new(0.0, 0.0)
        } else {
            let turns = count * (values[index].arg() / std::f64::consts::TAU);
            Complex::from_polar(ln_power.exp(), (turns - turns.round()) * std::f64::consts::TAU)
        };
        if ln_power - ln_radius > LN_NOTHING {
            sensitivity += terms * (ln_power - ln_radius).exp();
        }
        values[mirrored] = power.conj();
        values[index] = power;
    }
    planner.plan_fft_inverse(points).process(values);
    sensitivity
}

impl ComposedLoss {
    /// Finds the smallest epsilon in the window at which the composed loss meets `delta`. Returns `None` if the
    /// probability beyond the window and the rounding errors already exceed `delta`.
    ///
    /// The search goes down from the top with the hockey-stick divergence δ(l) = Σ over the losses j above l of p_j·(1
    /// − e^(l−j)). The recursion never subtracts: δ(l − h) = e^-h·δ(l) + (1 − e^-h)·P(j ≥ l).
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        let shrink = (-self.interval).exp();
        let (mut stick, mut above) = (0.0, 0.0);
        let mut allowed_above = delta - self.beyond - self.error_at(self.masses.len());
        if allowed_above <= 0.0 {
            return None;
        }
        for index in (0..self.masses.len()).rev() {
            let next = shrink * stick - (-self.interval).exp_m1() * above;
            let allowed = delta - self.beyond - self.error_at(index);
            if next > allowed {
                // Between this loss l and the next, δ(ε) = above − e^(ε − l)·(above − next).
                let share =
                    ((above - allowed_above.min(allowed)) / (above - next)).ln().clamp(0.0, self.interval);
                return Some(self.loss(index) + if share.is_nan() { self.interval } else { share });
            }
            stick = next;
            above += self.masses[index];
            allowed_above = allowed;
        }
        Some(self.loss(0))
    }

    fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.interval
    }

    /// Bounds the change that the rounding errors of all masses above a loss make to its delta.
    ///
    /// The errors count with the weights e^(−λj). Either all of them are at their own bound, or their norm is (the
    /// inequality of Cauchy and Schwarz). The first bound is smaller if the transform decays, the second if it does not.
    fn error_at(&self, index: usize) -> f64 {
        let spread = self.tilt * self.interval;
        let at = |ln_error: f64| exp_or_nothing(ln_error - self.tilt * self.loss(index));
        let each = at(self.ln_error) * (1.0 + 1.0 / spread);
        each.min(at(self.ln_error_norm) * (1.0 + 0.5 / spread).sqrt())
    }
}
