// Writes zeros, for rows without positions.

fn element(i: u32) {
    store_out(i, 0.0);
}
