// One training step for one weight: adjusts its gradient, then applies the optimizer.

/// Returns `a / b`, or 0 if a is 0, even if b underflowed to 0. So padding, which is all zeros, stays 0.
fn quotient(a: f32, b: f32) -> f32 {
    return select(a / b, a, !is_true(a));
}

fn adjusted_gradient(i: u32, weight: f32) -> f32 {
    var gradient = load_gradient(i);
    if HAS_FACTOR {
        gradient *= load_norm(2u);
    }
    if CLIPS_VALUE {
        gradient = select(clamp(gradient, -VALUE_MAX, VALUE_MAX), gradient, is_nan(gradient));
    }
    if PROXIMAL_TERM != 0.0 {
        gradient += PROXIMAL_TERM * (weight - load_start(i));
    }
    if IS_CORRECTED {
        gradient += load_correction(i);
    }
    return gradient;
}

fn element(i: u32) {
    if i == 0u {
        log_loss();
    }
    if IS_LOSS_SCALED {
        if load_norm(1u) != 1.0 {
            if i == 0u {
                log_or(2u, 2u);
            }
            return;
        }
    }
    let weight = load_weights(i);
    let updated = update(i, weight, adjusted_gradient(i, weight));
    store_weights(i, updated);
    if !is_finite(updated) {
        log_or(2u, 1u);
    }
}
