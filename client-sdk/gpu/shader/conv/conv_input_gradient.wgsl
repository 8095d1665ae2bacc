// The input gradient as a matrix product: transposed filters times the output gradient at the windows that read a
// pixel. The sums run over output channels and window offsets.

/// Returns the output channel of term `k`, and the index of its offset down and across within the phase.
fn term(k: u32) -> vec3<u32> {
    return vec3<u32>(
        k / (OFFSETS_DOWN * OFFSETS_ACROSS),
        k / OFFSETS_ACROSS % OFFSETS_DOWN,
        k % OFFSETS_ACROSS,
    );
}

fn offset_of(batch: u32, number: vec3<u32>) -> vec2<u32> {
    return first_offset(phase(batch)) + vec2<u32>(PHASES_DOWN * number.y, PHASES_ACROSS * number.z);
}

/// Returns 1 if the window has this offset, else 0.
fn is_offset(offset: vec2<u32>) -> u32 {
    return select(0u, 1u, (offset.x < KERNEL_HEIGHT) & (offset.y < KERNEL_WIDTH));
}

/// Returns the number of terms; 0 if no window reads the pixels of the phase.
fn term_count(batch: u32) -> u32 {
    return K * is_offset(first_offset(phase(batch)));
}

fn a_row(batch: u32, row: u32) -> vec4<u32> {
    let first = phase(batch).group * GROUP_OUT_CHANNELS * GROUP_CHANNELS;
    return vec4<u32>((first + row) * OFFSETS, 0u, 0u, 0u);
}

fn a_depth(batch: u32, k: u32) -> vec4<u32> {
    let number = term(k);
    let offset = offset_of(batch, number);
    let element = number.x * (GROUP_CHANNELS * OFFSETS) + offset.x * KERNEL_WIDTH + offset.y;
    return vec4<u32>(element, is_offset(offset), 0u, 0u);
}

fn a_value(row: vec4<u32>, depth: vec4<u32>) -> f32 {
    let is_inside = depth.y != 0u;
    return select(0.0, load_filter(select(0u, row.x + depth.x, is_inside)), is_inside);
}

fn b_column(batch: u32, column: u32) -> vec4<u32> {
    let own = phase(batch);
    let line = vec2<u32>(column / LINES_ACROSS % LINES_DOWN, column % LINES_ACROSS);
    let first = first_offset(own);
    // The position of the window that reads the pixel at the first offset. The division is exact; the position may be
    // negative.
    let y = (i32(own.down + PAD_ABOVE) - i32(first.x * DILATION_DOWN)) / i32(PHASES_DOWN);
    let x = (i32(own.across + PAD_LEFT) - i32(first.y * DILATION_ACROSS)) / i32(PHASES_ACROSS);
    let image = column / (LINES_DOWN * LINES_ACROSS);
    let channel = image * OUT_CHANNELS + own.group * GROUP_OUT_CHANNELS;
    return vec4<u32>(channel * OUT_PLANE, line.x + bitcast<u32>(y), line.y + bitcast<u32>(x), 0u);
}

fn b_depth(batch: u32, k: u32) -> vec4<u32> {
    let number = term(k);
    let is_inside = is_offset(offset_of(batch, number));
    return vec4<u32>(number.x * OUT_PLANE, number.y * DILATION_DOWN, number.z * DILATION_ACROSS, is_inside);
}

fn b_value(column: vec4<u32>, depth: vec4<u32>) -> f32 {
    let down = column.y - depth.y;
    let across = column.z - depth.z;
    let y = down / DIVISOR_DOWN;
    let x = across / DIVISOR_ACROSS;
    let is_whole = (down % DIVISOR_DOWN == 0u) & (across % DIVISOR_ACROSS == 0u);
    let is_inside = (y < OUT_HEIGHT) & (x < OUT_WIDTH) & is_whole & (depth.w != 0u);
    let value = load_gradient(select(0u, column.x + depth.x + y * OUT_WIDTH + x, is_inside));
    return select(0.0, value, is_inside);
}
