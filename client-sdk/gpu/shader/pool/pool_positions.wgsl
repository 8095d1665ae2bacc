// Where in its plane the first largest of each window is; -1 if nothing in the window is a number.

fn element(i: u32) {
    let at = largest(plane_of(i), window_of(i)).element;
    store_positions(i, select(f32(at), -1.0, at == NOWHERE));
}
