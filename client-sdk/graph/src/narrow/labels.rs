//! Axes whose sizes change together.

/// An axis as a part of a labelled one: its size is the label's size times `inner`. `None` is an axis that keeps its size.
pub(super) type Axis = Option<Part>;

/// See [`Axis`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    label: usize,
    inner: usize,
}

/// The labels. Axes that operators need to be equal share a label.
#[derive(Default)]
pub(super) struct Labels(Vec<Label>);

enum Label {
    /// A label of its own.
    Root { size: usize, is_fixed: bool },
    /// The same as another axis.
    Same(Part),
}

impl Labels {
    /// Returns an axis of this size that nothing is known about. An axis of size 1 or 0 keeps it.
    pub fn fresh(&mut self, size: usize) -> Axis {
        (size > 1).then(|| {
            self.0.push(Label::Root { size, is_fixed: false });
            Part { label: self.0.len() - 1, inner: 1 }
        })
    }

    /// Makes an axis keep its size.
    pub fn fix(&mut self, axis: Axis) {
        let Some(part) = axis else { return };
        let root = self.root(part).label;
        if let Label::Root { is_fixed, .. } = &mut self.0[root] {
            *is_fixed = true;
        }
    }

    /// Makes two axes of one size change together. If that is impossible, both keep their size.
    pub fn join(&mut self, one: Axis, other: Axis) {
        let (Some(first), Some(second)) = (one, other) else {
            self.fix(one);
            self.fix(other);
            return;
        };
        let (first, second) = (self.root(first), self.root(second));
        if first == second {
            return;
        }
        let (outer, within) = if first.inner >= second.inner { (first, second) } else { (second, first) };
        if first.label == second.label || !outer.inner.is_multiple_of(within.inner) {
            self.fix(one);
            self.fix(other);
            return;
        }
        let was_fixed = matches!(self.0[within.label], Label::Root { is_fixed: true, .. });
        self.0[within.label] = Label::Same(Part { inner: outer.inner / within.inner, ..outer });
        if was_fixed {
            self.fix(one);
        }
    }

    /// Returns the axis that is left if this one and inner ones of `inner` elements together are made one.
    pub fn merged(axis: Axis, inner: usize) -> Axis {
        axis.map(|part| Part { inner: part.inner * inner, ..part })
    }

    /// Returns the size of an axis of `size` elements if all labels shrink to this share, to one element at least.
    pub fn narrowed(&self, axis: Axis, size: usize, share: f64) -> usize {
        let Some(part) = axis.map(|part| self.root(part)) else { return size };
        match self.0[part.label] {
            Label::Root { size, is_fixed: false } => {
                ((size as f64 * share).round() as usize).clamp(1, size) * part.inner
            }
            _ => size,
        }
    }

    /// Returns whether an axis keeps its size.
    pub fn is_fixed(&self, axis: Axis) -> bool {
        let Some(part) = axis.map(|part| self.root(part)) else { return true };
        matches!(self.0[part.label], Label::Root { is_fixed: true, .. })
    }

    fn root(&self, mut part: Part) -> Part {
        while let Label::Same(of) = self.0[part.label] {
            part = Part { inner: part.inner * of.inner, ..of };
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_axes_shrink_together_also_with_inner_elements() {
        let mut labels = Labels::default();
        let (channels, features, units) = (labels.fresh(8), labels.fresh(72), labels.fresh(5));
        labels.join(Labels::merged(channels, 9), features);
        let sizes = |labels: &Labels| {
            [(channels, 8), (features, 72), (units, 5)].map(|(axis, size)| labels.narrowed(axis, size, 0.5))
        };
        assert_eq!(sizes(&labels), [4, 36, 3]);
        labels.fix(features);
        assert_eq!(sizes(&labels), [8, 72, 3]);
        labels.join(units, None);
        assert_eq!(sizes(&labels), [8, 72, 5]);
    }

    #[test]
    fn a_label_that_was_fixed_before_it_is_joined_fixes_the_others() {
        for is_first in [false, true] {
            let mut labels = Labels::default();
            let (one, other) = (labels.fresh(4), labels.fresh(4));
            labels.fix(if is_first { one } else { other });
            labels.join(one, other);
            assert_eq!([one, other].map(|axis| labels.narrowed(axis, 4, 0.25)), [4, 4]);
        }
    }

    #[test]
    fn axes_that_cannot_shrink_together_keep_their_sizes() {
        let mut labels = Labels::default();
        let (two, three) = (labels.fresh(3), labels.fresh(2));
        labels.join(Labels::merged(two, 2), Labels::merged(three, 3));
        assert_eq!([labels.narrowed(two, 3, 0.5), labels.narrowed(three, 2, 0.5)], [3, 2]);
        let mut labels = Labels::default();
        let heads = labels.fresh(6);
        let outer = labels.fresh(3);
        labels.join(heads, Labels::merged(outer, 2));
        assert_eq!([labels.narrowed(heads, 6, 0.34), labels.narrowed(outer, 3, 0.34)], [2, 1]);
        labels.join(heads, outer);
        assert_eq!([labels.narrowed(heads, 6, 0.34), labels.narrowed(outer, 3, 0.34)], [6, 3]);
    }

    #[test]
    fn one_element_remains() {
        let mut labels = Labels::default();
        let axis = labels.fresh(3);
        assert_eq!([0.01, 0.5, 1.0].map(|share| labels.narrowed(axis, 3, share)), [1, 2, 3]);
        assert_eq!(labels.fresh(1), None);
        assert_eq!(labels.narrowed(None, 1, 0.5), 1);
    }
}
