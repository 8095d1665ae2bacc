// A convolution as a matrix product (im2col): filters times the matrix of windows, which has one column for each
// position of each image.

fn term_count(batch: u32) -> u32 {
    return K;
}

fn a_row(batch: u32, row: u32) -> vec4<u32> {
    return vec4<u32>((batch * M + row) * K, 0u, 0u, 0u);
}

fn a_depth(batch: u32, k: u32) -> vec4<u32> {
    return vec4<u32>(k, 0u, 0u, 0u);
}

fn a_value(row: vec4<u32>, depth: vec4<u32>) -> f32 {
    return load_filter(row.x + depth.x);
}

fn b_column(batch: u32, column: u32) -> vec4<u32> {
    let channel = column / OUT_PLANE * CHANNELS + batch * GROUP_CHANNELS;
    return padded(window_start(column % OUT_PLANE)) + vec4<u32>(channel * PLANE, 0u, 0u, 0u);
}

fn b_depth(batch: u32, k: u32) -> vec4<u32> {
    return window_offset(k);
}

fn b_value(column: vec4<u32>, depth: vec4<u32>) -> f32 {
    return window_value(column, depth);
}
