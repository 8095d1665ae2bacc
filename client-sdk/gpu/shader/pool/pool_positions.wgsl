// The position of the first maximum of each window in its plane; -1 if the window has only NaNs.

fn element(i: u32) {
    let at = largest(plane_of(i), window_of(i)).element;
    store_positions(i, select(f32(at), -1.0, at == NOWHERE));
}
