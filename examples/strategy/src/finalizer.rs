//! Lion as a server optimizer (Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2, with the aggregate in
//! place of the negative gradient and without weight decay).
//!
//! Settings: `rate`, the length of a step in each parameter; `beta1` and `beta2`, the weights of the momentum.

use std::cell::Cell;

use crate::exports::folkmoot::strategy::finalizer::{Commit, Guest, Tile};
use crate::{Strategy, read};

thread_local! {
    static SETTINGS: Cell<[f64; 3]> = const { Cell::new([0.0; 3]) };
}

fn settings(text: &str) -> Result<[f64; 3], String> {
    let [rate, beta1, beta2] = read(text, [("rate", 0.001), ("beta1", 0.9), ("beta2", 0.99)])?;
    match [beta1, beta2].iter().all(|beta| (0.0..1.0).contains(beta)) {
        true => Ok([rate, beta1, beta2]),
        false => Err(format!("beta1 is {beta1} and beta2 is {beta2}; both must be at least 0 and below 1")),
    }
}

impl Guest for Strategy {
    fn check(text: String) -> Result<(), String> {
        settings(&text).map(|_| ())
    }

    /// Each parameter keeps one value, its momentum.
    fn begin(commit: Commit) -> Result<u32, String> {
        SETTINGS.set(settings(&commit.settings)?);
        Ok(1)
    }

    fn advance(
        _first: u64,
        mut weights: Vec<f32>,
        mean_delta: Vec<f64>,
        mut state: Vec<Vec<f32>>,
    ) -> Result<Tile, String> {
        let [rate, beta1, beta2] = SETTINGS.get();
        let momenta = state.first_mut().ok_or("there is no momentum")?;
        for ((weight, delta), momentum) in weights.iter_mut().zip(&mean_delta).zip(momenta) {
            let before = f64::from(*momentum);
            let direction = beta1 * before + (1.0 - beta1) * delta;
            // The sign of 0 is 0 here: a parameter that nobody moves stays.
            let sign = if direction == 0.0 { 0.0 } else { direction.signum() };
            *weight = (f64::from(*weight) + rate * sign) as f32;
            *momentum = (beta2 * before + (1.0 - beta2) * delta) as f32;
        }
        Ok(Tile { weights, state })
    }
}
