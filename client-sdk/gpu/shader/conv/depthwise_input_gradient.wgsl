// The input gradient of a depthwise convolution, from the windows that read a pixel. An invocation computes `BLOCK`
// neighbours of a row. With a stride, windows read a pixel only at every `PHASES_…`-th offset.

/// Returns the element of a row, or 0 outside.
fn row_value(row: u32, x: u32) -> f32 {
    let is_inside = x < OUT_WIDTH;
    let value = load_gradient(select(0u, row + x, is_inside));
    return select(0.0, value, is_inside);
}

fn element(i: u32) {
    let x = i % BLOCKS * BLOCK;
    let y = i / BLOCKS % HEIGHT;
    let channel = i / (BLOCKS * HEIGHT) % CHANNELS;
    let image = i / (BLOCKS * HEIGHT * CHANNELS);
    let left = x / STRIDE_ACROSS;
    let first_offset = (y + PAD_ABOVE) % PHASES_DOWN * INVERSE_DOWN % PHASES_DOWN;
    //SUMS
    for (var source = 0u; source < OUT_CHANNELS / CHANNELS; source += 1u) {
        let out_channel = channel * (OUT_CHANNELS / CHANNELS) + source;
        let plane = (image * OUT_CHANNELS + out_channel) * OUT_PLANE;
        for (var offset_down = first_offset; offset_down < KERNEL_HEIGHT; offset_down += PHASES_DOWN) {
            // Above the first window this wraps around to a value after the last window.
            let down = y + PAD_ABOVE - offset_down * DILATION_DOWN;
            let out_y = down / STRIDE_DOWN;
            if (down % STRIDE_DOWN == 0u) & (out_y < OUT_HEIGHT) {
                let row = plane + out_y * OUT_WIDTH;
                let filter_row = out_channel * OFFSETS + offset_down * KERNEL_WIDTH;
                //MULTIPLY
            }
        }
    }
    let first = ((image * CHANNELS + channel) * HEIGHT + y) * WIDTH + x;
    //STORE
}
