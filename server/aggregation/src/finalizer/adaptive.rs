use folkmoot_protocol::saturating::to_float32;

/// The common part of the adaptive finalizers: Reddi et al. 2021, "Adaptive federated optimization", algorithm 2.
///
/// m ← β₁·m + (1 − β₁)·Δ, then v by the finalizer's own rule, then w ← w + η·m / (√v + τ). There is no bias
/// correction: v starts at τ² and m at 0. The state of each parameter is m and v.
pub(super) struct Adaptive {
    /// η, the learning rate of this commit.
    pub learning_rate: f64,
    /// β₁, the decay of the momentum.
    pub beta1: f64,
    /// τ, the adaptivity.
    pub tau: f64,
}

/// The state of each parameter: m and v.
pub(super) const STATE_COUNT: usize = 2;

/// Returns the initial value of m (slot 0) or v (slot 1).
pub(super) fn initial_state(slot: usize, tau: f64) -> f32 {
    if slot == 0 { 0.0 } else { to_float32(tau * tau) }
}

impl Adaptive {
    /// Advances one tile. `next_square(v, Δ²)` is the finalizer's rule for v.
    pub fn advance(
        &self,
        weights: &mut [f32],
        mean_delta: &[f64],
        state: &mut [&mut [f32]],
        next_square: impl Fn(f64, f64) -> f64,
    ) {
        let [moments, squares] = state else {
            unreachable!("{STATE_COUNT} numbers for each parameter are kept")
        };
        let kept = moments.iter_mut().zip(squares.iter_mut());
        for ((weight, &delta), (moment, square)) in weights.iter_mut().zip(mean_delta).zip(kept) {
            let next_moment = self.beta1 * f64::from(*moment) + (1.0 - self.beta1) * delta;
            let next_square = next_square(f64::from(*square), delta * delta);
            let step = self.learning_rate * next_moment / (next_square.sqrt() + self.tau);
            *weight = to_float32(f64::from(*weight) + step);
            *moment = to_float32(next_moment);
            *square = to_float32(next_square);
        }
    }
}
