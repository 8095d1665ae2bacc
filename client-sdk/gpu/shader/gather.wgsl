// Each element of the output reads from the row at its position.

fn element(i: u32) {
    let row = i / INNER;
    let wanted = row_of(load_positions(row % POSITIONS));
    store_out(i, load_data((row / POSITIONS * SIZE + wanted) * INNER + i % INNER));
}
