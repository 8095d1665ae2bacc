// The addresses of the elements of two row-major matrices, each optionally transposed.

fn term_count(batch: u32) -> u32 {
    return K;
}

fn a_row(batch: u32, row: u32) -> vec4<u32> {
    return vec4<u32>(a_matrix(batch) + row * A_ROW, 0u, 0u, 0u);
}

fn a_depth(batch: u32, k: u32) -> vec4<u32> {
    return vec4<u32>(k * A_COLUMN, 0u, 0u, 0u);
}

fn a_value(row: vec4<u32>, depth: vec4<u32>) -> f32 {
    return load_a(row.x + depth.x);
}

fn b_column(batch: u32, column: u32) -> vec4<u32> {
    return vec4<u32>(b_matrix(batch) + column * B_COLUMN, 0u, 0u, 0u);
}

fn b_depth(batch: u32, k: u32) -> vec4<u32> {
    return vec4<u32>(k * B_ROW, 0u, 0u, 0u);
}

fn b_value(column: vec4<u32>, depth: vec4<u32>) -> f32 {
    return load_b(column.x + depth.x);
}
