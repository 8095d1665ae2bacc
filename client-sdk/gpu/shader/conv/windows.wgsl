// Reads windows of an image. A place is (element, row, column): the first element of a channel, and a row and a column.
// Rows and columns above or left of the image are numbers that wrap around.

/// Returns the element of the image at an offset from a place, or 0 outside of the image.
fn window_value(place: vec4<u32>, offset: vec4<u32>) -> f32 {
    let y = place.y + offset.y;
    let x = place.z + offset.z;
    let is_inside = (y < HEIGHT) & (x < WIDTH);
    let value = load_x(select(0u, place.x + offset.x + y * WIDTH + x, is_inside));
    return select(0.0, value, is_inside);
}

/// Returns the first place that the window at a position of an image covers.
fn window_start(position: u32) -> vec4<u32> {
    return vec4<u32>(0u, position / OUT_WIDTH * STRIDE_DOWN, position % OUT_WIDTH * STRIDE_ACROSS, 0u);
}

/// Returns what an offset of the window adds to its place. Offsets count through one channel after another.
fn window_offset(offset: u32) -> vec4<u32> {
    let rest = offset % OFFSETS;
    return vec4<u32>(
        offset / OFFSETS * PLANE,
        rest / KERNEL_WIDTH * DILATION_DOWN,
        rest % KERNEL_WIDTH * DILATION_ACROSS,
        0u,
    );
}

fn padded(place: vec4<u32>) -> vec4<u32> {
    return place - vec4<u32>(0u, PAD_ABOVE, PAD_LEFT, 0u);
}
