// The filter gradient as a matrix product: the output gradient times the transposed matrix of windows. The sums run
// over the positions of all images.

fn term_count(batch: u32) -> u32 {
    return K;
}

fn a_row(batch: u32, row: u32) -> vec4<u32> {
    return vec4<u32>((batch * M + row) * OUT_PLANE, 0u, 0u, 0u);
}

fn a_depth(batch: u32, k: u32) -> vec4<u32> {
    return vec4<u32>(k / OUT_PLANE * (OUT_CHANNELS * OUT_PLANE) + k % OUT_PLANE, 0u, 0u, 0u);
}

fn a_value(row: vec4<u32>, depth: vec4<u32>) -> f32 {
    return load_gradient(row.x + depth.x);
}

fn b_column(batch: u32, column: u32) -> vec4<u32> {
    return padded(window_offset(column)) + vec4<u32>(batch * GROUP_CHANNELS * PLANE, 0u, 0u, 0u);
}

fn b_depth(batch: u32, k: u32) -> vec4<u32> {
    return window_start(k % OUT_PLANE) + vec4<u32>(k / OUT_PLANE * (CHANNELS * PLANE), 0u, 0u, 0u);
}

fn b_value(column: vec4<u32>, depth: vec4<u32>) -> f32 {
    return window_value(column, depth);
}
