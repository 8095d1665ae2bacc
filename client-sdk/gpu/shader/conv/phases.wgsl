// A batch of the input gradient is a group of channels and a phase. A phase is the set of pixels whose row and column
// have the same remainders modulo the strides. Its pixels are read at every `PHASES_…`-th offset of the window.

struct Phase {
    group: u32,
    down: u32,
    across: u32,
}

fn phase(batch: u32) -> Phase {
    return Phase(
        batch / (PHASES_DOWN * PHASES_ACROSS),
        batch / PHASES_ACROSS % PHASES_DOWN,
        batch % PHASES_ACROSS,
    );
}

/// Returns the first offsets (down, across) of the window at which the pixels of a phase are read.
fn first_offset(own: Phase) -> vec2<u32> {
    return vec2<u32>(
        (own.down + PAD_ABOVE) % PHASES_DOWN * INVERSE_DOWN % PHASES_DOWN,
        (own.across + PAD_LEFT) % PHASES_ACROSS * INVERSE_ACROSS % PHASES_ACROSS,
    );
}
