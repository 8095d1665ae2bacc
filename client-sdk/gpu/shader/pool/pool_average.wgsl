// The mean of each window.

fn element(i: u32) {
    let plane = plane_of(i);
    let window = window_of(i);
    let inside = offsets_inside(window);
    var sum = 0.0;
    for (var y = inside.start.x; y < inside.end.x; y += 1u) {
        for (var x = inside.start.y; x < inside.end.y; x += 1u) {
            sum += load_x(plane + element_at(window, vec2<u32>(y, x)));
        }
    }
    store_out(i, sum / divisor(window));
}
