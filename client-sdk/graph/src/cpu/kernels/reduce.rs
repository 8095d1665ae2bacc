//! Sums, maxima and minima over axes, in a fixed order.

use crate::cpu::element::Element;
use crate::op::Reduction;

/// The number of partial results into which a row is reduced side by side. This lets the loop vectorise and reduces the
/// rounding error of long sums.
const LANES: usize = 16;

/// A reduction of a tensor of known shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reduce {
    kind: Reduction,
    /// Size and output stride of each axis; the stride of a reduced axis is 0. Neighbouring axes of the same kind are
    /// merged.
    axes: Vec<(usize, usize)>,
}

impl Reduce {
    /// Prepares a reduction. `is_reduced` says for each axis of `shape` whether to reduce it.
    pub(crate) fn new(kind: Reduction, shape: &[usize], is_reduced: &[bool]) -> Self {
        let mut merged: Vec<(usize, bool)> = Vec::new();
        for (size, reduced) in shape.iter().copied().zip(is_reduced.iter().copied()) {
            match merged.last_mut() {
                _ if size == 1 => {}
                Some((outer, kind)) if *kind == reduced => *outer *= size,
                _ => merged.push((size, reduced)),
            }
        }
        let mut stride = 1;
        let mut axes: Vec<(usize, usize)> = Vec::new();
        for (size, reduced) in merged.into_iter().rev() {
            axes.push((size, if reduced { 0 } else { stride }));
            stride *= if reduced { 1 } else { size };
        }
        axes.reverse();
        Self { kind, axes }
    }

    /// Reduces `x` to `out`.
    #[inline(always)]
    pub(crate) fn run<E: Element>(&self, x: &[E], out: &mut [E]) {
        match self.kind {
            Reduction::Sum => self.fold(x, out, E::ZERO, |a, b| a + b),
            Reduction::Maximum => self.fold(x, out, E::LOWEST, maximum),
            Reduction::Minimum => self.fold(x, out, E::HIGHEST, |a, b| -maximum(-a, -b)),
        }
    }

    #[inline(always)]
    fn fold<E: Element>(&self, x: &[E], out: &mut [E], start: E, combine: impl Fn(E, E) -> E + Copy) {
        out.fill(start);
        if x.is_empty() {
            return;
        }
        let (outer, (length, stride)) = match self.axes.split_last() {
            Some((inner, outer)) => (outer, *inner),
            None => (&self.axes[..], (1, 0)),
        };
        for (row, x) in x.chunks_exact(length).enumerate() {
            let (mut rest, mut at) = (row, 0);
            for (size, stride) in outer.iter().rev() {
                at += rest % size * stride;
                rest /= size;
            }
            if stride == 0 {
                out[at] = combine(out[at], fold_row(x, start, combine));
            } else {
                for (out, x) in out[at..at + length].iter_mut().zip(x) {
                    *out = combine(*out, *x);
                }
            }
        }
    }
}

#[inline(always)]
fn fold_row<E: Element>(x: &[E], start: E, combine: impl Fn(E, E) -> E + Copy) -> E {
    let mut lanes = [start; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, *x);
        }
    }
    let tail = rest.iter().fold(start, |sum, x| combine(sum, *x));
    if chunks.is_empty() {
        return tail;
    }
    lanes.into_iter().fold(tail, combine)
}

/// Returns the larger number, or NaN if either is NaN.
#[inline(always)]
pub(crate) fn maximum<E: Element>(a: E, b: E) -> E {
    if a >= b || a.partial_cmp(&a).is_none() { a } else { b }
}

/// The position of the maximum along an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgMaximum {
    size: usize,
    inner: usize,
    last: bool,
}

impl ArgMaximum {
    pub(crate) fn new(shape: &[usize], axis: usize, last: bool) -> Self {
        Self { size: shape[axis], inner: shape[axis + 1..].iter().product(), last }
    }

    pub(crate) fn run<E: Element>(&self, x: &[E], out: &mut [E]) {
        for (index, out) in out.iter_mut().enumerate() {
            let first = index / self.inner * self.size * self.inner + index % self.inner;
            let mut best = 0;
            for position in 1..self.size {
                let (candidate, leader) = (x[first + position * self.inner], x[first + best * self.inner]);
                if candidate > leader || (self.last && candidate == leader) {
                    best = position;
                }
            }
            *out = E::from_f64(best as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_axes() {
        let x: Vec<f64> = (0..24).map(f64::from).collect();
        let mut out = vec![0.0; 3];
        Reduce::new(Reduction::Sum, &[2, 3, 4], &[true, false, true]).run(&x, &mut out);
        assert_eq!(out, [60.0, 92.0, 124.0]);
        let mut out = vec![0.0; 8];
        Reduce::new(Reduction::Maximum, &[2, 3, 4], &[false, true, false]).run(&x, &mut out);
        assert_eq!(out, [8.0, 9.0, 10.0, 11.0, 20.0, 21.0, 22.0, 23.0]);
        let mut out = vec![0.0];
        Reduce::new(Reduction::Minimum, &[2, 3, 4], &[true; 3]).run(&x, &mut out);
        assert_eq!(out, [0.0]);
    }

    #[test]
    fn nothing_adds_up_to_0() {
        let mut out = vec![7.0; 3];
        Reduce::new(Reduction::Sum, &[3, 0], &[false, true]).run::<f64>(&[], &mut out);
        assert_eq!(out, [0.0; 3]);
        Reduce::new(Reduction::Sum, &[2, 0], &[true, false]).run::<f64>(&[], &mut []);
    }

    #[test]
    fn the_first_or_last_largest() {
        let x = [1.0, 3.0, 3.0, 2.0];
        let mut out = [0.0];
        ArgMaximum::new(&[4], 0, false).run(&x, &mut out);
        assert_eq!(out, [1.0]);
        ArgMaximum::new(&[4], 0, true).run(&x, &mut out);
        assert_eq!(out, [2.0]);
    }
}
