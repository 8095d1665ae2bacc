// Adagrad (Duchi et al. 2011) with a diagonal matrix: s = s + g²; w = w - r g / (√s + epsilon).

fn update(i: u32, weight: f32, own: f32) -> f32 {
    let gradient = own + WEIGHT_DECAY * weight;
    let square = load_first(i) + gradient * gradient;
    store_first(i, square);
    return weight - quotient(step.learning_rate * gradient, sqrt(square) + EPSILON);
}
