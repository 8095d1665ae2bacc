// Copies rows of several tensors, one beside the other, into a part of each of the output's rows.

fn element(i: u32) {
    let row = i / PART;
    let place = i % PART;
    store_out(row * ROW + START + place, find(row, place));
}
