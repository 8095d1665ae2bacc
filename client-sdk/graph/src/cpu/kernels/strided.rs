//! Copies between a row-major tensor and strided positions of another: slices, transposes, padding, concatenation.

use crate::cpu::element::Element;
use crate::op::strides;

/// Strided positions in a tensor: one for each element of another, row-major tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strided {
    /// Size and stride of each axis, outermost first; contiguous axes are merged.
    axes: Vec<(usize, isize)>,
    offset: usize,
}

impl Strided {
    /// Returns the positions `offset + Σ index · stride`.
    pub(crate) fn new(sizes: &[usize], strides: &[isize], offset: usize) -> Self {
        let mut axes: Vec<(usize, isize)> = Vec::new();
        for (size, stride) in sizes.iter().copied().zip(strides.iter().copied()) {
            match axes.last_mut() {
                _ if size == 1 => {}
                Some((outer, distance)) if *distance == stride * size as isize => {
                    (*outer, *distance) = (*outer * size, stride);
                }
                _ => axes.push((size, stride)),
            }
        }
        Self { axes, offset }
    }

    /// Returns the positions that a slice reads in a tensor of `shape`.
    pub(crate) fn of_slice(shape: &[usize], starts: &[usize], steps: &[isize], sizes: &[usize]) -> Self {
        let own = strides(shape);
        let offset = starts.iter().zip(&own).map(|(start, stride)| start * stride).sum();
        let distances: Vec<isize> =
            steps.iter().zip(&own).map(|(step, stride)| step * *stride as isize).collect();
        Self::new(sizes, &distances, offset)
    }

    /// Returns the positions that a transpose reads.
    pub(crate) fn of_transpose(shape: &[usize], axes: &[usize]) -> Self {
        let own = strides(shape);
        let sizes: Vec<usize> = axes.iter().map(|axis| shape[*axis]).collect();
        let distances: Vec<isize> = axes.iter().map(|axis| own[*axis] as isize).collect();
        Self::new(&sizes, &distances, 0)
    }

    /// Reads the positions in order: `out[i] = from[position i]`.
    pub(crate) fn read<E: Element>(&self, from: &[E], out: &mut [E]) {
        self.each_row(|at, row, length, stride| {
            let out = &mut out[row..row + length];
            match stride {
                1 => out.copy_from_slice(&from[at..at + length]),
                0 => out.fill(from[at]),
                _ => {
                    let mut position = at as isize;
                    for element in out {
                        *element = from[position as usize];
                        position += stride;
                    }
                }
            }
        });
    }

    /// Writes to the positions in order: `out[position i] = from[i]`. Other positions keep their values.
    pub(crate) fn write<E: Element>(&self, from: &[E], out: &mut [E]) {
        self.each_row(|at, row, length, stride| {
            let from = &from[row..row + length];
            if stride == 1 {
                return out[at..at + length].copy_from_slice(from);
            }
            let mut position = at as isize;
            for element in from {
                out[position as usize] = *element;
                position += stride;
            }
        });
    }

    /// Calls `visit(position, first row-major index, length, stride)` for each innermost row, in order.
    fn each_row(&self, mut visit: impl FnMut(usize, usize, usize, isize)) {
        let (outer, (length, stride)) = match self.axes.split_last() {
            Some((inner, outer)) => (outer, *inner),
            None => (&self.axes[..], (1, 1)),
        };
        let rows: usize = outer.iter().map(|(size, _)| size).product();
        for row in 0..rows {
            let (mut rest, mut at) = (row, self.offset as isize);
            for (size, stride) in outer.iter().rev() {
                at += (rest % size) as isize * stride;
                rest /= size;
            }
            visit(at as usize, row * length, length, stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_transposes_and_back() {
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let mut out = vec![0.0; 12];
        Strided::of_transpose(&[3, 4], &[1, 0]).read(&x, &mut out);
        assert_eq!(out, [0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0]);
        let slice = Strided::of_slice(&[3, 4], &[2, 0], &[-2, 3], &[2, 2]);
        let mut out = vec![0.0; 4];
        slice.read(&x, &mut out);
        assert_eq!(out, [8.0, 11.0, 0.0, 3.0]);
        let mut back = vec![0.0; 12];
        slice.write(&out, &mut back);
        assert_eq!(back, [0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 11.0]);
    }
}
