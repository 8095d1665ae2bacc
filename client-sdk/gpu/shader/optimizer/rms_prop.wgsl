// RMSprop (Tieleman and Hinton 2012): s = decay s + (1 - decay) g²; v = momentum v + g / (√s + epsilon); w = w - r v.

fn update(i: u32, weight: f32, own: f32) -> f32 {
    let gradient = own + WEIGHT_DECAY * weight;
    let square = DECAY * load_first(i) + NEW_SQUARE * gradient * gradient;
    store_first(i, square);
    let direction = quotient(gradient, sqrt(square) + EPSILON);
    if MOMENTUM == 0.0 {
        return weight - step.learning_rate * direction;
    }
    let velocity = MOMENTUM * load_second(i) + direction;
    store_second(i, velocity);
    return weight - step.learning_rate * velocity;
}
