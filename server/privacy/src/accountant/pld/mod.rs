//! Privacy loss distributions: the tight accountant for many rounds of one kind.
//!
//! Both directions of a relation have a pair of Gaussian mixtures that dominates them. Its loss is put on a grid from
//! above, composed by a Fourier transform, and read off. All that is cut away or rounded is added to delta, so that
//! the answer is an upper bound; where no grid of bounded size gives one, there is none, and the Rényi accountant
//! answers.

mod compose;
mod outlook;
mod pair;
mod step;

use compose::{Window, compose};
use outlook::Outlook;
use pair::{AT_ZERO, MixturePair};

use crate::budget::{Delta, Epsilon, SamplingRate};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// Points of the window at most: 16 MiB for each of a few vectors.
const POINTS_MAX: usize = 1 << 20;

/// Points of the window at least.
const POINTS_MIN: usize = 1 << 15;

/// The interval of the grid in standard deviations of one step's loss: it raises the variance by 0.04 %.
const INTERVAL_PER_DEVIATION: f64 = 0.05;

/// The share of delta that may be cut away, together.
const CUT_SHARE: f64 = 1e-4;

/// The logarithm of the tilted probability that may be outside the window, on each side.
const LN_WRAPPED: f64 = -20.0;

/// The largest loss of one step for which float64 has room.
const LOSS_MAX: f64 = 600.0;

/// Derives epsilon after `steps` rounds with Poisson sampling, from the privacy loss distribution.
///
/// Under [`Relation::AddOrRemove`] and [`Relation::ZeroOut`] the pair is (1−q)N(0, z²) + qN(1, z²) and N(0, z²), in
/// both directions; the two relations have the same curve. Under [`Relation::ReplaceOne`] it is
/// (1−q)N(0, s²) + qN(1, s²) and (1−q)N(0, s²) + qN(−1, s²), with s the standard deviation in clipping norms
/// (Zhu, Dong and Wang 2022, "Optimal accounting of differential privacy via characteristic function").
///
/// `None` if one step's loss is too large or the window has no room: then [`RdpCurve`](super::RdpCurve) answers.
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
    let mixed = [1.0 - rate.get(), rate.get()];
    let directions = match multiplier.relation() {
        Relation::ZeroOut | Relation::AddOrRemove => vec![(mixed, AT_ZERO), (AT_ZERO, mixed)],
        // The other direction is the mirror image of this one.
        Relation::ReplaceOne => vec![(mixed, mixed)],
    };
    let epsilons = directions
        .into_iter()
        .map(|(upper, lower)| composed_epsilon(&MixturePair { upper, lower, z }, steps, delta.get()));
    let largest = epsilons.reduce(|first, second| Some(first?.max(second?)))??;
    Epsilon::new(largest).ok()
}

/// Derives epsilon of one direction.
fn composed_epsilon(pair: &MixturePair, steps: u64, delta: f64) -> Option<f64> {
    let cut = CUT_SHARE * delta;
    let deviations = (-2.0 * (cut / steps as f64).ln()).sqrt();
    // All means lie between −1 and 1.
    let (x_low, x_high) = (-1.0 - deviations * pair.z, 1.0 + deviations * pair.z);
    if pair.loss(x_high) > LOSS_MAX || pair.loss(x_low) < -LOSS_MAX {
        return None;
    }
    let outlook = Outlook::new(pair, x_low, x_high, steps, delta);
    let tilt = outlook.tilt();
    let (tail_tilt, quantile) = outlook.upper_quantile(cut.ln());
    // What is beyond the window is wrapped around into it: sound, but it must be little where epsilon will be.
    let high = outlook.tilted_upper_quantile(tilt, LN_WRAPPED).max(quantile);
    let low = outlook.lower_quantile(tilt, LN_WRAPPED);
    let width = 1.05 * (high - low);
    let deviation = outlook.step_deviation(tilt).min(outlook.usual_step_deviation(3.0 * pair.z));
    let fine = (INTERVAL_PER_DEVIATION * deviation).min(width / POINTS_MIN as f64);
    let interval =
        fine.max(width / POINTS_MAX as f64).max((pair.loss(x_high) - pair.loss(x_low)) / POINTS_MAX as f64);
    let points = ((width / interval).ceil() as usize).next_power_of_two().clamp(POINTS_MIN, POINTS_MAX);
    let step = step::connect_the_dots(pair, interval, x_low, x_high);
    let first = (low / interval).floor() as i64;
    let composed = compose(&step, steps, Window { first, points, tilt, tail_tilt });
    Some(composed.epsilon(delta)?.max(0.0))
}
