// Each element of a table adds up the values whose positions refer to its row, in order. If several invocations share
// an element, each adds up the values of `PART` positions.

fn element(i: u32) {
    let target_place = i % OUTPUTS;
    let row = target_place / INNER;
    let first = row / SIZE * POSITIONS;
    let begin = i / OUTPUTS * PART;
    let end = min(begin + PART, POSITIONS);
    var sum = 0.0;
    for (var place = begin; place < end; place += 1u) {
        if row_of(load_positions(place)) == row % SIZE {
            sum += load_values((first + place) * INNER + target_place % INNER);
        }
    }
    store_out(i, sum);
}
