//! Deep gradient compression: sends the largest elements of a memory with momentum.
//!
//! Lin et al. 2018, "Deep gradient compression", section 3. In each round, with clip `c` and `N` clients:
//! `g <- g · min(1, c / sqrt(N) / |g|)`; `u <- m · u + g`; `v <- v + u`; the largest elements of `v` are sent; `u` and
//! `v` are set to 0 there (momentum factor masking). In the warm-up, the share that is sent starts at 25 % and falls to
//! a quarter in each round, down to the final share. The shares left out are then 75, 93.75, 98.4375 … %.

use crate::codec::transform::real::Real;

/// The share sent in the first round of the warm-up, and the factor between rounds.
const WARMUP_SHARE: f64 = 0.25;

/// Returns the share sent in a round, counted from 0.
pub(crate) fn share_in_round(share: f64, warmup_rounds: u32, round: u32) -> f64 {
    if round >= warmup_rounds { share } else { share.max(WARMUP_SHARE.powi(round as i32 + 1)) }
}

/// Returns the factor that clips a gradient of this norm to `clip / sqrt(clients)`.
pub(crate) fn clip_factor(norm: f64, clip: f64, clients: u32) -> f64 {
    let bound = clip / f64::from(clients).sqrt();
    if norm > bound { bound / norm } else { 1.0 }
}

/// Adds a clipped gradient to the momentum `u`, and the momentum to the accumulated `v`.
pub(crate) fn accumulate<T: Real>(gradient: &[T], clip_factor: f64, momentum: f64, u: &mut [T], v: &mut [T]) {
    let (factor, momentum) = (T::from_f64(clip_factor), T::from_f64(momentum));
    for ((gradient, u), v) in gradient.iter().zip(u).zip(v) {
        *u = momentum * *u + factor * *gradient;
        *v += *u;
    }
}

/// Clears the elements that were sent.
pub(crate) fn mask<T: Real>(sent: &[u32], u: &mut [T], v: &mut [T]) {
    for at in sent {
        u[*at as usize] = T::ZERO;
        v[*at as usize] = T::ZERO;
    }
}
