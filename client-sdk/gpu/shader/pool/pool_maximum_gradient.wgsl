// For windows that do not overlap: an element gets the gradient of its window if it is the first maximum there.

fn element(i: u32) {
    let plane = i - i % (INPUT.x * INPUT.y);
    let window = position_of(i) / STRIDES;
    var gradient = 0.0;
    if all(window < OUTPUT) {
        if largest(plane, window).element == i - plane {
            gradient = load_gradient(output_of(i, window));
        }
    }
    store_out(i, gradient);
}
