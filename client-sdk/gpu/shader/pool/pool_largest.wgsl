// The first maximum of a window.

const NOWHERE: u32 = 0xffffffffu;

struct Largest {
    value: f32,
    // The element in the plane; `NOWHERE` if the window has only NaNs.
    element: u32,
}

fn largest(plane: u32, window: vec2<u32>) -> Largest {
    let inside = offsets_inside(window);
    var best = Largest(-infinity(), NOWHERE);
    for (var y = inside.start.x; y < inside.end.x; y += 1u) {
        for (var x = inside.start.y; x < inside.end.y; x += 1u) {
            let at = element_at(window, vec2<u32>(y, x));
            let value = load_x(plane + at);
            if value > best.value || (value == best.value && best.element == NOWHERE) {
                best = Largest(value, at);
            }
        }
    }
    return best;
}
