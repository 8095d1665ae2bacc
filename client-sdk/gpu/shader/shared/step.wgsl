struct Step {
    // The step's learning rate.
    learning_rate: f32,
    // Adam: the learning rate divided by the first moment's bias correction.
    rate: f32,
    // Adam: 1 over the square root of the second moment's bias correction.
    root_factor: f32,
    // The row of this step in the log.
    index: u32,
    // The seed of this step's random numbers.
    seed_low: u32,
    seed_high: u32,
    // The index of this batch's first example in the order of the examples.
    first: u32,
    // Unused; pads the struct to 32 bytes.
    unused: u32,
}
@group(1) @binding(0) var<uniform> step: Step;
