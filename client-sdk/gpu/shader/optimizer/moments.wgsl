// The moments of Adam (Kingma and Ba 2015, algorithm 1). The bias-corrected rates are computed on the host for each
// step.

fn adam_step(i: u32, weight: f32, gradient: f32) -> f32 {
    let mean = BETA1 * load_first(i) + NEW_MEAN * gradient;
    let square = BETA2 * load_second(i) + NEW_SQUARE * gradient * gradient;
    store_first(i, mean);
    store_second(i, square);
    return weight - quotient(step.rate * mean, sqrt(square) * step.root_factor + EPSILON);
}
