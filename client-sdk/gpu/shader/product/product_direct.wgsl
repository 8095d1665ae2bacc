// The variants that do not use workgroup memory for A and B.

@compute @workgroup_size(INVOCATIONS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = group.y * GROUPS_ACROSS + group.x;
    if tile >= TILES {
        return;
    }
    let own = assignment(tile);
    let row = own.first_row + lane / INVOCATIONS_ACROSS;
    let column = own.first_column + lane % INVOCATIONS_ACROSS;
    var sums: array<f32, SUMS>;
    //PLACES
    for (var k = own.start; k < own.end; k += 1u) {
        let a_at = a_depth(own.batch, k);
        let b_at = b_depth(own.batch, k);
        //MULTIPLY
    }
    //STORE
}
