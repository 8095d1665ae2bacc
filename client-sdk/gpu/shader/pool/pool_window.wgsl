// Windows that slide over planes. Every pair is (height, width). Positions count from the start of the padding, unless
// stated otherwise.

/// A range of pairs.
struct Range {
    start: vec2<u32>,
    end: vec2<u32>,
}

/// Returns the first offsets of a window that reach `level`.
fn reaching(window: vec2<u32>, level: vec2<u32>) -> vec2<u32> {
    let start = window * STRIDES;
    return (max(level, start) - start + DILATIONS - 1u) / DILATIONS;
}

/// Returns the offsets at which a window reads inside the plane.
fn offsets_inside(window: vec2<u32>) -> Range {
    return Range(reaching(window, PADS), min(reaching(window, PADS + INPUT), KERNEL));
}

/// Returns the element of the plane that a window reads at an offset inside the plane.
fn element_at(window: vec2<u32>, offset: vec2<u32>) -> u32 {
    let position = window * STRIDES + offset * DILATIONS - PADS;
    return position.x * INPUT.y + position.y;
}

/// Returns the divisor for a window's sum.
fn divisor(window: vec2<u32>) -> f32 {
    let start = reaching(window, COUNTED_START);
    let end = max(min(reaching(window, COUNTED_END), KERNEL), start);
    return f32(max((end.x - start.x) * (end.y - start.y), 1u));
}

/// Returns the window of an element of the output.
fn window_of(i: u32) -> vec2<u32> {
    return vec2<u32>(i / OUTPUT.y % OUTPUT.x, i % OUTPUT.y);
}

/// Returns the first element of the plane of an element of the output.
fn plane_of(i: u32) -> u32 {
    return i / (OUTPUT.x * OUTPUT.y) * (INPUT.x * INPUT.y);
}

/// Returns the position of an element of the input.
fn position_of(i: u32) -> vec2<u32> {
    return vec2<u32>(i / INPUT.y % INPUT.x, i % INPUT.y) + PADS;
}

/// Returns the windows that may read this position.
fn windows_over(position: vec2<u32>) -> Range {
    let reach = SPAN - 1u;
    return Range((max(position, reach) - reach + STRIDES - 1u) / STRIDES, min(position / STRIDES + 1u, OUTPUT));
}

/// Returns the output of a window, in the plane of an element of the input.
fn output_of(i: u32, window: vec2<u32>) -> u32 {
    return (i / (INPUT.x * INPUT.y) * OUTPUT.x + window.x) * OUTPUT.y + window.y;
}
