// Windows that slide over planes. Every pair is (height, width); positions count from the start of the padding, where
// nothing else is said.

/// A range of pairs.
struct Range {
    start: vec2<u32>,
    end: vec2<u32>,
}

/// The first offsets of a window that reach `level`.
fn reaching(window: vec2<u32>, level: vec2<u32>) -> vec2<u32> {
    let start = window * STRIDES;
    return (max(level, start) - start + DILATIONS - 1u) / DILATIONS;
}

/// The offsets at which a window reads inside the plane.
fn offsets_inside(window: vec2<u32>) -> Range {
    return Range(reaching(window, PADS), min(reaching(window, PADS + INPUT), KERNEL));
}

/// The element of the plane that a window reads at an offset inside.
fn element_at(window: vec2<u32>, offset: vec2<u32>) -> u32 {
    let position = window * STRIDES + offset * DILATIONS - PADS;
    return position.x * INPUT.y + position.y;
}

/// What the sum of a window is divided by.
fn divisor(window: vec2<u32>) -> f32 {
    let start = reaching(window, COUNTED_START);
    let end = max(min(reaching(window, COUNTED_END), KERNEL), start);
    return f32(max((end.x - start.x) * (end.y - start.y), 1u));
}

/// The window of an element of the output.
fn window_of(i: u32) -> vec2<u32> {
    return vec2<u32>(i / OUTPUT.y % OUTPUT.x, i % OUTPUT.y);
}

/// The first element of the plane that belongs to an element of the output.
fn plane_of(i: u32) -> u32 {
    return i / (OUTPUT.x * OUTPUT.y) * (INPUT.x * INPUT.y);
}

/// The position of an element of the input.
fn position_of(i: u32) -> vec2<u32> {
    return vec2<u32>(i / INPUT.y % INPUT.x, i % INPUT.y) + PADS;
}

/// The windows that may read this position.
fn windows_over(position: vec2<u32>) -> Range {
    let reach = SPAN - 1u;
    return Range((max(position, reach) - reach + STRIDES - 1u) / STRIDES, min(position / STRIDES + 1u, OUTPUT));
}

/// The output of a window in the plane of an element of the input.
fn output_of(i: u32, window: vec2<u32>) -> u32 {
    return (i / (INPUT.x * INPUT.y) * OUTPUT.x + window.x) * OUTPUT.y + window.y;
}
