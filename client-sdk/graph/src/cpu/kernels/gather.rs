//! Rows of a table by their positions, and the gradient of the table.

use crate::cpu::element::Element;

/// `data[outer, position, inner]` for every position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gather {
    size: usize,
    inner: usize,
    positions: usize,
}

impl Gather {
    /// `data` is the table's shape.
    pub(crate) fn new(data: &[usize], axis: usize, positions: usize) -> Self {
        Self { size: data[axis], inner: data[axis + 1..].iter().product(), positions }
    }

    /// A position below 0 counts from the end; one that is outside reads the nearest row, because a step cannot fail.
    pub(crate) fn run<E: Element>(&self, data: &[E], positions: &[E], out: &mut [E]) {
        let rows = out.chunks_exact_mut(self.inner);
        for (index, out) in rows.enumerate() {
            let row = self.row(index, positions) * self.inner;
            out.copy_from_slice(&data[row..row + self.inner]);
        }
    }

    /// Adds every row of `values` to the row of `out` that it was read from, in order.
    pub(crate) fn scatter_add<E: Element>(&self, values: &[E], positions: &[E], out: &mut [E]) {
        out.fill(E::ZERO);
        for (index, values) in values.chunks_exact(self.inner).enumerate() {
            let row = self.row(index, positions) * self.inner;
            for (out, value) in out[row..row + self.inner].iter_mut().zip(values) {
                *out += *value;
            }
        }
    }

    fn row<E: Element>(&self, index: usize, positions: &[E]) -> usize {
        let (outer, position) = (index / self.positions, index % self.positions);
        let wanted = positions[position].to_f64() as i64;
        let from_start = if wanted < 0 { wanted + self.size as i64 } else { wanted };
        outer * self.size + from_start.clamp(0, self.size as i64 - 1) as usize
    }
}
