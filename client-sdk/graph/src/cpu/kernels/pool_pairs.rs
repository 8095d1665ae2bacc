//! Max pooling with non-overlapping 2 x 2 windows, the most common kind: one pass, without storing positions.

use crate::cpu::element::Element;

/// Computes the maximum of each square of `[.., height, width]`; leaves out an odd last row or column.
#[inline(always)]
pub(super) fn maximum<E: Element>(x: &[E], [height, width]: [usize; 2], out: &mut [E]) {
    let mut rows = out.chunks_exact_mut(width / 2);
    for plane in x.chunks_exact(height * width) {
        for pair in plane.chunks_exact(2 * width) {
            let Some(row) = rows.next() else { return };
            let (top, bottom) = pair.split_at(width);
            let squares = top.as_chunks::<2>().0.iter().zip(bottom.as_chunks::<2>().0);
            for (out, (top, bottom)) in row.iter_mut().zip(squares) {
                let upper = if top[1] > top[0] { top[1] } else { top[0] };
                let lower = if bottom[1] > bottom[0] { bottom[1] } else { bottom[0] };
                *out = if lower > upper { lower } else { upper };
            }
        }
    }
}

/// Passes the gradient of each square to its first maximum.
#[inline(always)]
pub(super) fn maximum_gradient<E: Element>(
    x: &[E],
    gradient: &[E],
    [height, width]: [usize; 2],
    out: &mut [E],
) {
    if height % 2 == 1 || width % 2 == 1 {
        out.fill(E::ZERO);
    }
    let mut rows = gradient.chunks_exact(width / 2);
    for (plane, out) in x.chunks_exact(height * width).zip(out.chunks_exact_mut(height * width)) {
        for (pair, out) in plane.chunks_exact(2 * width).zip(out.chunks_exact_mut(2 * width)) {
            let Some(row) = rows.next() else { return };
            let ((top, bottom), (out_top, out_bottom)) = (pair.split_at(width), out.split_at_mut(width));
            let squares = top.as_chunks::<2>().0.iter().zip(bottom.as_chunks::<2>().0);
            let outs = out_top.as_chunks_mut::<2>().0.iter_mut().zip(out_bottom.as_chunks_mut::<2>().0);
            for ((gradient, (top, bottom)), (out_top, out_bottom)) in row.iter().zip(squares).zip(outs) {
                // Uses factors of 0 and 1 instead of branches, which would be mispredicted on real images.
                let right_above = truth::<E>(top[1] > top[0]);
                let right_below = truth::<E>(bottom[1] > bottom[0]);
                let upper = if top[1] > top[0] { top[1] } else { top[0] };
                let lower = if bottom[1] > bottom[0] { bottom[1] } else { bottom[0] };
                let below = *gradient * truth::<E>(lower > upper);
                let above = *gradient - below;
                *out_top = [above - above * right_above, above * right_above];
                *out_bottom = [below - below * right_below, below * right_below];
            }
        }
    }
}

#[inline(always)]
fn truth<E: Element>(is_true: bool) -> E {
    if is_true { E::ONE } else { E::ZERO }
}
