// The filter gradient of a depthwise convolution. An invocation computes one row of a filter from some output rows of
// all images.

/// Returns the element of a row, or 0 outside.
fn row_value(row: u32, x: u32) -> f32 {
    let is_inside = x < WIDTH;
    let value = load_x(select(0u, row + x, is_inside));
    return select(0.0, value, is_inside);
}

fn element(i: u32) {
    let part = i % PARTS;
    let offset_down = i / PARTS % KERNEL_HEIGHT;
    let out_channel = i / (PARTS * KERNEL_HEIGHT);
    let channel = out_channel / (OUT_CHANNELS / CHANNELS);
    let end = min((part + 1u) * PART, ROWS);
    //SUMS
    for (var line = part * PART; line < end; line += 1u) {
        let image = line / OUT_HEIGHT;
        let out_y = line % OUT_HEIGHT;
        let y = out_y * STRIDE_DOWN + offset_down * DILATION_DOWN - PAD_ABOVE;
        if y < HEIGHT {
            let row = ((image * CHANNELS + channel) * HEIGHT + y) * WIDTH;
            let gradients = ((image * OUT_CHANNELS + out_channel) * OUT_HEIGHT + out_y) * OUT_WIDTH;
            for (var out_x = 0u; out_x < OUT_WIDTH; out_x += 1u) {
                let gradient = load_gradient(gradients + out_x);
                let x = out_x * STRIDE_ACROSS - PAD_LEFT;
                //MULTIPLY
            }
        }
    }
    let first = part * FILTERS + (out_channel * KERNEL_HEIGHT + offset_down) * KERNEL_WIDTH;
    //STORE
}
