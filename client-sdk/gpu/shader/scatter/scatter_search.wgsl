// Each element of a table adds up the values whose positions refer to its row, in order.

fn element(i: u32) {
    let row = i / INNER;
    let first = row / SIZE * POSITIONS;
    var sum = 0.0;
    for (var place = 0u; place < POSITIONS; place += 1u) {
        if row_of(load_positions(place)) == row % SIZE {
            sum += load_values((first + place) * INNER + i % INNER);
        }
    }
    store_out(i, sum);
}
