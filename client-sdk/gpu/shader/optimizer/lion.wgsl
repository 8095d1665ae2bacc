// Lion (Chen et al. 2023, algorithm 2): w = w - r (sign(β₁ m + (1 - β₁) g) + λ w); m = β₂ m + (1 - β₂) g.

fn update(i: u32, weight: f32, gradient: f32) -> f32 {
    let mean = load_first(i);
    let mixed = BETA1 * mean + NEW_DIRECTION * gradient;
    // A value that is not finite must show in the weight.
    let direction = select(mixed, sign(mixed), is_finite(mixed));
    store_first(i, BETA2 * mean + NEW_MEAN * gradient);
    return weight - step.learning_rate * (direction + WEIGHT_DECAY * weight);
}
