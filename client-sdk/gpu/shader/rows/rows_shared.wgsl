// Runs `row_of_lanes` for rows that `LANES` neighbouring invocations share. No invocation returns early, because all of
// a workgroup meet at its barriers.

var<workgroup> shared_values: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) invocation: u32) {
    let row = (group.y * COLUMNS + group.x) * (256u / LANES) + invocation / LANES;
    // Rows beyond the last one are computed as copies of it, and not stored.
    row_of_lanes(min(row, LAST_ROW), invocation % LANES, invocation / LANES * LANES, row < ROWS);
}
