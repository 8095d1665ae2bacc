struct Step {
    // The step's learning rate.
    learning_rate: f32,
    // Adam's: the learning rate over the correction of the first moment's bias.
    rate: f32,
    // Adam's: one over the root of the correction of the second moment's bias.
    root_factor: f32,
    // The row of this step in the log.
    index: u32,
    // Decide this step's random numbers.
    seed_low: u32,
    seed_high: u32,
    // The first of this batch in the order of the examples.
    first: u32,
    // What the gradient is divided by.
    unused: u32,
}
@group(1) @binding(0) var<uniform> step: Step;
