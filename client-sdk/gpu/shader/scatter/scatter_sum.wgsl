// The first position of each row adds up the values of its linked list, in order.

fn element(i: u32) {
    let outer = i / (POSITIONS * INNER);
    let place = i / INNER % POSITIONS;
    var link = load_links(place);
    if link < 0.0 {
        return;
    }
    var sum = load_values(i);
    while u32(abs(link)) < POSITIONS {
        let next = u32(abs(link));
        sum += load_values((outer * POSITIONS + next) * INNER + i % INNER);
        link = load_links(next);
    }
    store_out((outer * SIZE + row_of(load_positions(place))) * INNER + i % INNER, sum);
}
