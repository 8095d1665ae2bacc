//! Privacy loss distributions (PLD): the tight accountant for many rounds of one kind.
//!
//! Each direction of a relation has a dominating pair of Gaussian mixtures. Its privacy loss is rounded up to a grid,
//! composed by a Fourier transform, and converted to an epsilon. Every truncated tail and every rounding error is added
//! to delta, so the result is an upper bound. If no grid of bounded size gives a bound, the functions return `None`,
//! and the caller uses the Rényi accountant.

mod compose;
mod outlook;
mod pair;
mod step;

use compose::{Window, compose};
use outlook::Outlook;
use pair::{AT_ZERO, CutPair, MixturePair};
use step::connect_the_dots;

use super::gaussian;
use crate::budget::{Delta, Epsilon, SamplingRate};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The maximum number of points of the window: 4 MiB for each of a few vectors.
const POINTS_MAX: usize = 1 << 18;

/// The minimum number of points of the window.
const POINTS_MIN: usize = 1 << 15;

/// The interval of the grid, in standard deviations of one step's loss. It raises the variance by 0.04 %.
const INTERVAL_PER_DEVIATION: f64 = 0.05;

/// The share of delta that truncated tails may use up in total.
const CUT_SHARE: f64 = 1e-4;

/// The logarithm of the tilted probability that may be outside the window, on each side.
const LN_WRAPPED: f64 = -20.0;

/// The magnitude up to which an output is usual, in standard deviations of the noise. Larger outputs are rare events.
const USUAL_DEVIATIONS: f64 = 3.0;

/// The largest loss of one step, in magnitude. Its exponential fits into a float64 with room for the sums.
const LOSS_MAX: f64 = 600.0;

/// Computes epsilon after `steps` rounds with Poisson sampling, from the privacy loss distribution.
///
/// Under [`Relation::AddOrRemove`] and [`Relation::ZeroOut`] the dominating pair is (1−q)N(0, z²) + qN(1, z²) and
/// N(0, z²), in both directions; the two relations have the same curve. Under [`Relation::ReplaceOne`] it is
/// (1−q)N(0, s²) + qN(1, s²) and (1−q)N(0, s²) + qN(−1, s²), with s the standard deviation in clipping norms (Zhu, Dong
/// and Wang 2022, "Optimal accounting of differential privacy via characteristic function").
///
/// Returns `None` if one step's loss is too large or the window would need too many points. In that case, use
/// [`RdpCurve`](super::RdpCurve).
pub fn poisson_gaussian_epsilon(
    rate: SamplingRate,
    multiplier: NoiseMultiplier,
    steps: u64,
    delta: Delta,
) -> Option<Epsilon> {
    if steps == 0 {
        return Epsilon::new(0.0).ok();
    }
    let z = multiplier.standard_deviation_per_clipping_norm();
    if steps as f64 * total_variation(multiplier, rate.get()) <= delta.get() {
        return Epsilon::new(0.0).ok();
    }
    let sampled = pairs(multiplier.relation(), rate.get(), z);
    let epsilons = sampled.into_iter().map(|pair| composed_epsilon(pair, steps, delta.get()));
    largest(epsilons)
}

/// Computes δ(0) of one step: the sampling rate times 2Φ(1/(2·multiplier)) − 1, the total variation distance between a
/// release with the client and a release without the client. For several steps, δ(0) is at most the sum over the steps.
fn total_variation(multiplier: NoiseMultiplier, rate: f64) -> f64 {
    rate * gaussian::profile(1.0 / multiplier.get(), 0.0)
}

/// Returns the dominating pairs of Poisson sampling, one for each direction that differs.
fn pairs(relation: Relation, rate: f64, z: f64) -> Vec<MixturePair> {
    let mixed = [1.0 - rate, rate];
    let directions = match relation {
        Relation::ZeroOut | Relation::AddOrRemove => vec![(mixed, AT_ZERO), (AT_ZERO, mixed)],
        // The other direction is the mirror image of this one.
        Relation::ReplaceOne => vec![(mixed, mixed)],
    };
    directions.into_iter().map(|(upper, lower)| MixturePair { upper, lower, z }).collect()
}

/// Returns the largest epsilon of all directions; `None` if one direction has none.
fn largest(epsilons: impl Iterator<Item = Option<f64>>) -> Option<Epsilon> {
    let largest = epsilons.reduce(|first, second| Some(first?.max(second?)))??;
    Epsilon::new(largest).ok()
}

/// Computes epsilon for one direction: chooses the grid, puts the step's loss on it and composes it.
fn composed_epsilon(pair: MixturePair, steps: u64, delta: f64) -> Option<f64> {
    let cut = CUT_SHARE * delta;
    let deviations = (-2.0 * (cut / steps as f64).ln()).sqrt();
    // All means lie between −1 and 1.
    let (x_low, x_high) = (-1.0 - deviations * pair.z, 1.0 + deviations * pair.z);
    let (lowest, highest) = (pair.loss(x_low), pair.loss(x_high));
    if highest > LOSS_MAX || lowest < -LOSS_MAX {
        return None;
    }
    let step = CutPair { pair, x_low, x_high };
    let outlook = Outlook::new(&step, steps, delta);
    let tilt = outlook.tilt();
    let (tail_tilt, quantile) = outlook.upper_quantile(cut.ln());
    // Probability beyond the window wraps around into the window. The bound stays sound, but it becomes loose if much
    // probability wraps to losses near epsilon.
    let high = outlook.tilted_upper_quantile(tilt, LN_WRAPPED).max(quantile);
    let low = outlook.lower_quantile(tilt, LN_WRAPPED);
    let width = 1.05 * (high - low);
    let deviation = outlook.step_deviation(tilt).min(outlook.usual_step_deviation(USUAL_DEVIATIONS));
    let fine = (INTERVAL_PER_DEVIATION * deviation).min(width / POINTS_MIN as f64);
    let interval = fine.max(width / POINTS_MAX as f64).max((highest - lowest) / POINTS_MAX as f64);
    let points = ((width / interval).ceil() as usize).next_power_of_two().clamp(POINTS_MIN, POINTS_MAX);
    let first = (low / interval).floor() as i64;
    let composed =
        compose(&connect_the_dots(&step, interval), steps, Window { first, points, tilt, tail_tilt });
    Some(composed.epsilon(delta)?.max(0.0))
}
