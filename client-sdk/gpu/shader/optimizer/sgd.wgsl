// Stochastic gradient descent: v = momentum v + g; w = w - r v, or w = w - r (g + momentum v).

fn update(i: u32, weight: f32, own: f32) -> f32 {
    let gradient = own + WEIGHT_DECAY * weight;
    if MOMENTUM == 0.0 {
        return weight - step.learning_rate * gradient;
    }
    let velocity = MOMENTUM * load_first(i) + gradient;
    store_first(i, velocity);
    return weight - step.learning_rate * select(velocity, gradient + MOMENTUM * velocity, NESTEROV);
}
