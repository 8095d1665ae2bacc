// The maximum of each window.

fn element(i: u32) {
    store_out(i, largest(plane_of(i), window_of(i)).value);
}
