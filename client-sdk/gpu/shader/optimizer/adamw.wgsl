// Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2).

fn update(i: u32, weight: f32, gradient: f32) -> f32 {
    return adam_step(i, weight * (1.0 - step.learning_rate * WEIGHT_DECAY), gradient);
}
