//! Views: a tensor read as if it were sliced, transposed or broadcast. Only the indexing changes.

use folkmoot_graph::op::{Op, broadcast_strides, strides, volume};

/// Returns whether an operator only changes the positions of elements.
pub(super) fn is_view(op: &Op) -> bool {
    matches!(op, Op::Reshape | Op::Transpose { .. } | Op::Slice { .. } | Op::Broadcast)
}

/// A view: element `index` of the reader's shape is element `offset + Σ index · stride` of the tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    sizes: Vec<usize>,
    strides: Vec<isize>,
    offset: isize,
}

impl View {
    /// Returns the identity view.
    pub(super) fn plain(shape: &[usize]) -> Self {
        let strides = strides(shape).into_iter().map(|stride| stride as isize).collect();
        Self { sizes: shape.to_vec(), strides, offset: 0 }
    }

    /// Returns whether every element is read at its own position.
    pub(super) fn is_plain(&self) -> bool {
        self.offset == 0 && self.merged().iter().all(|(_, stride)| *stride == 1) && self.merged().len() <= 1
    }

    /// Transposes the view: axis `i` of the result is axis `axes[i]` of this view.
    pub(super) fn transposed(&self, axes: &[usize]) -> Self {
        let sizes = axes.iter().map(|axis| self.sizes[*axis]).collect();
        let strides = axes.iter().map(|axis| self.strides[*axis]).collect();
        Self { sizes, strides, offset: self.offset }
    }

    /// Slices the view: `sizes` positions along each axis from `starts` on, with strides `steps`.
    pub(super) fn sliced(&self, starts: &[usize], steps: &[isize], sizes: &[usize]) -> Self {
        let begin = starts.iter().zip(&self.strides).map(|(start, stride)| *start as isize * stride);
        let offset = self.offset + begin.sum::<isize>();
        let strides = steps.iter().zip(&self.strides).map(|(step, stride)| step * stride).collect();
        Self { sizes: sizes.to_vec(), strides, offset }
    }

    /// Broadcasts the view to a shape, by NumPy's rules.
    pub(super) fn repeated(&self, shape: &[usize]) -> Self {
        let padding = shape.len() - self.sizes.len();
        // The stride is 0 along broadcast axes.
        let kept = broadcast_strides(&self.sizes, shape);
        let stride = |axis: usize| match kept[axis] {
            0 => 0,
            _ => self.strides[axis - padding],
        };
        let strides = (0..shape.len()).map(stride).collect();
        Self { sizes: shape.to_vec(), strides, offset: self.offset }
    }

    /// Returns WGSL for the position of element `i`, counted row-major.
    pub(super) fn position(&self) -> String {
        let merged = self.merged();
        let mut inner: usize = 1;
        let mut terms: Vec<String> = Vec::new();
        for (index, (size, stride)) in merged.iter().enumerate().rev() {
            if *stride != 0 {
                let divided = if inner == 1 { "i".to_owned() } else { format!("i / {inner}u") };
                // The outermost axis needs no remainder.
                let along = if index == 0 { divided } else { format!("({divided}) % {size}u") };
                // A negative stride wraps around modulo 2^32, and so does the sum.
                let factor = if *stride == 1 { String::new() } else { format!(" * {}u", *stride as u32) };
                terms.push(format!("({along}){factor}"));
            }
            inner *= size;
        }
        if self.offset != 0 || terms.is_empty() {
            terms.push(format!("{}u", self.offset as u32));
        }
        terms.join(" + ")
    }

    /// Returns size and stride of each axis, outermost first; contiguous axes are merged.
    fn merged(&self) -> Vec<(usize, isize)> {
        let mut axes: Vec<(usize, isize)> = Vec::new();
        if volume(&self.sizes) == 0 {
            return axes;
        }
        for (size, stride) in self.sizes.iter().copied().zip(self.strides.iter().copied()) {
            match axes.last_mut() {
                _ if size == 1 => {}
                Some((outer, distance)) if *distance == stride * size as isize => {
                    (*outer, *distance) = (*outer * size, stride);
                }
                _ => axes.push((size, stride)),
            }
        }
        axes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_as_wgsl() {
        assert!(View::plain(&[2, 3]).is_plain());
        assert_eq!(View::plain(&[2, 3]).position(), "(i)");
        assert_eq!(View::plain(&[]).position(), "0u");
        let transposed = View::plain(&[2, 3]).transposed(&[1, 0]);
        assert!(!transposed.is_plain());
        assert_eq!(transposed.position(), "((i) % 2u) * 3u + (i / 2u)");
        assert_eq!(View::plain(&[3]).repeated(&[2, 3]).position(), "((i) % 3u)");
        let reversed = View::plain(&[4]).sliced(&[3], &[-1], &[4]);
        assert_eq!(reversed.position(), "(i) * 4294967295u + 3u");
        assert!(!View::plain(&[4]).sliced(&[1], &[1], &[3]).is_plain());
    }
}
