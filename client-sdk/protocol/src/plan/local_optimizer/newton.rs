//! The ranges and defaults of Newton's method.

use crate::plan::fault::Faults;

/// The largest number of products with the Hessian in a step.
const CG_STEPS_MAX: u32 = 200;

pub(super) fn list_faults([learning_rate, damping, tolerance]: [f32; 3], cg_steps: u32, faults: &mut Faults) {
    faults.expect_positive("optimizer.newton.learning_rate", learning_rate);
    faults.expect_not_negative("optimizer.newton.damping", damping);
    if !(1..=CG_STEPS_MAX).contains(&cg_steps) {
        faults.add("optimizer.newton.cg_steps", cg_steps.into(), "1 to 200");
    }
    if !(tolerance > 0.0 && tolerance < 1.0) {
        faults.add("optimizer.newton.tolerance", tolerance.into(), "above 0 and below 1");
    }
}

pub(super) fn learning_rate() -> f32 {
    1.0
}

pub(super) fn damping() -> f32 {
    1e-3
}

pub(super) fn cg_steps() -> u32 {
    50
}

pub(super) fn tolerance() -> f32 {
    1e-3
}
