//! The ranges and defaults of Sophia.

use crate::plan::fault::Faults;

/// The largest number of steps between two estimates.
const INTERVAL_MAX: u32 = 1_000;

pub(super) fn list_faults(
    [learning_rate, beta1, beta2, gamma, epsilon, weight_decay]: [f32; 6],
    interval: u32,
    faults: &mut Faults,
) {
    faults.expect_positive("optimizer.sophia.learning_rate", learning_rate);
    faults.expect_share("optimizer.sophia.beta1", beta1);
    faults.expect_share("optimizer.sophia.beta2", beta2);
    faults.expect_positive("optimizer.sophia.gamma", gamma);
    faults.expect_positive("optimizer.sophia.epsilon", epsilon);
    faults.expect_not_negative("optimizer.sophia.weight_decay", weight_decay);
    if !(1..=INTERVAL_MAX).contains(&interval) {
        faults.add("optimizer.sophia.interval", interval.into(), "1 to 1000");
    }
}

pub(super) fn beta1() -> f32 {
    0.96
}

pub(super) fn beta2() -> f32 {
    0.99
}

pub(super) fn gamma() -> f32 {
    0.01
}

pub(super) fn epsilon() -> f32 {
    1e-12
}

pub(super) fn interval() -> u32 {
    10
}
