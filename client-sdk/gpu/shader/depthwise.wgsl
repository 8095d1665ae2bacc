// A depthwise convolution. An invocation computes `BLOCK` neighbours of a row.

/// Returns the element of a row, or 0 outside.
fn row_value(row: u32, x: u32) -> f32 {
    let is_inside = x < WIDTH;
    let value = load_x(select(0u, row + x, is_inside));
    return select(0.0, value, is_inside);
}

fn element(i: u32) {
    let x = i % BLOCKS * BLOCK;
    let out_y = i / BLOCKS % OUT_HEIGHT;
    let out_channel = i / (BLOCKS * OUT_HEIGHT) % OUT_CHANNELS;
    let image = i / (BLOCKS * OUT_HEIGHT * OUT_CHANNELS);
    let plane = (image * CHANNELS + out_channel / (OUT_CHANNELS / CHANNELS)) * PLANE;
    let left = x * STRIDE_ACROSS - PAD_LEFT;
    //SUMS
    for (var offset_down = 0u; offset_down < KERNEL_HEIGHT; offset_down += 1u) {
        let y = out_y * STRIDE_DOWN + offset_down * DILATION_DOWN - PAD_ABOVE;
        if y < HEIGHT {
            let row = plane + y * WIDTH;
            let filter_row = out_channel * OFFSETS + offset_down * KERNEL_WIDTH;
            //MULTIPLY
        }
    }
    let first = ((image * OUT_CHANNELS + out_channel) * OUT_HEIGHT + out_y) * OUT_WIDTH + x;
    //STORE
}
