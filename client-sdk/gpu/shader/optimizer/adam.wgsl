// Adam: weight decay is added to the gradient, so it passes through the moments.

fn update(i: u32, weight: f32, gradient: f32) -> f32 {
    return adam_step(i, weight, gradient + WEIGHT_DECAY * weight);
}
