//! Sums over the buffers of depthwise convolutions, in blocks that vectorise.

use crate::cpu::element::Element;

/// The number of neighbouring outputs that are computed together.
pub(super) const LANES: usize = 16;
/// The number of window positions that are added in one pass over a plane.
const TAPS: usize = 16;

/// Adds the elements of `source` to `out`, once for each tap: from the tap's distance on, times the tap's factor.
#[inline(always)]
pub(super) fn add_all<E: Element>(taps: impl Iterator<Item = (usize, E)>, source: &[E], out: &mut [E]) {
    let (mut block, mut count) = ([(0, E::ZERO); TAPS], 0);
    for tap in taps {
        if count == TAPS {
            add(&block, source, out);
            count = 0;
        }
        block[count] = tap;
        count += 1;
    }
    add(&block[..count], source, out);
}

#[inline(always)]
fn add<E: Element>(taps: &[(usize, E)], source: &[E], out: &mut [E]) {
    for (index, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sums = *out;
        for (distance, factor) in taps {
            let values = &source[distance + index * LANES..][..LANES];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += *factor * *value);
        }
        *out = sums;
    }
}

/// Returns the inner product of `a` and the first `a.len()` elements of `b`.
#[inline(always)]
pub(super) fn dot<E: Element>(a: &[E], b: &[E]) -> E {
    let mut sums = [E::ZERO; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += *a * *b);
    }
    sums.into_iter().fold(E::ZERO, |sum, lane| sum + lane)
}
