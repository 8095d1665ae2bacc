//! The matrices whose outer products are recorded.

use folkmoot_protocol::OuterProducts;

/// A matrix whose outer products are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The index among the model's parameters.
    pub(crate) parameter: usize,
    /// The first dimension.
    pub(crate) rows: usize,
    /// The product of all other dimensions.
    pub(crate) columns: usize,
}

impl Recorded {
    /// Returns the maximum number of outer products that together have no more numbers than the matrix.
    pub(crate) fn count_max(self) -> usize {
        self.rows.saturating_mul(self.columns) / (self.rows + self.columns).max(1)
    }

    /// Returns whether one outer product per example has no more numbers than the matrix, for this many examples.
    pub(crate) fn pays(self, examples: u64) -> bool {
        examples <= self.count_max() as u64
    }

    /// Creates an empty list with capacity for one product per example. Returns `None` if the products would have more
    /// numbers than the matrix.
    pub(crate) fn begin(self, examples: u64) -> Option<OuterProducts> {
        let count = usize::try_from(examples).ok().filter(|_| self.pays(examples))?;
        let room = |length| Vec::with_capacity(count * length);
        Some(OuterProducts { count: 0, left: room(self.rows), right: room(self.columns) })
    }
}
