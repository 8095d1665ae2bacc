// Links each position to the next position with the same row, or to the number of positions if there is none. The link
// is negative if an earlier position has the same row.

fn element(i: u32) {
    let row = row_of(load_positions(i));
    var is_first = true;
    for (var before = 0u; before < i && is_first; before += 1u) {
        is_first = row_of(load_positions(before)) != row;
    }
    var next = i + 1u;
    while next < POSITIONS && row_of(load_positions(next)) != row {
        next += 1u;
    }
    store_links(i, select(-f32(next), f32(next), is_first));
}
