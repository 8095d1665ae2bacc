//! Gathers rows of a table by position, and computes the table's gradient.

use crate::cpu::element::Element;

/// A gather along one axis: reads `data[outer, position, inner]` for every position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gather {
    size: usize,
    inner: usize,
    positions: usize,
}

impl Gather {
    /// Prepares a gather. `data` is the shape of the table, and `positions` the number of positions.
    pub(crate) fn new(data: &[usize], axis: usize, positions: usize) -> Self {
        Self { size: data[axis], inner: data[axis + 1..].iter().product(), positions }
    }

    /// Gathers the rows. A position below 0 counts from the end. A position out of range reads the nearest row, because
    /// a step cannot fail.
    pub(crate) fn run<E: Element>(&self, data: &[E], positions: &[E], out: &mut [E]) {
        let rows = out.chunks_exact_mut(self.inner);
        for (index, out) in rows.enumerate() {
            let row = self.row(index, positions) * self.inner;
            out.copy_from_slice(&data[row..row + self.inner]);
        }
    }

    /// Sets `out` to zero, then adds each row of `values` to the row of `out` at its position. Repeated positions add
    /// up, in order.
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
