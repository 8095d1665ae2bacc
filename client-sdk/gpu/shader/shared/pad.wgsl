// Writes zeros, and the elements of a tensor where `find` returns a position.

const NOWHERE: u32 = 0xffffffffu;

fn element(i: u32) {
    let at = find(i);
    var value = 0.0;
    if at != NOWHERE {
        value = load_x(at);
    }
    store_out(i, value);
}
