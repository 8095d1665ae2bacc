//! Of which matrices outer products are recorded.

use folkmoot_protocol::OuterProducts;

/// A matrix of which products are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The position among the model's parameters.
    pub(crate) parameter: usize,
    /// The first dimension.
    pub(crate) rows: usize,
    /// All others together.
    pub(crate) columns: usize,
}

impl Recorded {
    /// Products that are no more numbers than the matrix, at most.
    pub(crate) fn count_max(self) -> usize {
        self.rows.saturating_mul(self.columns) / (self.rows + self.columns).max(1)
    }

    /// Says whether one product for each of so many examples takes no more numbers than the matrix.
    pub(crate) fn pays(self, examples: u64) -> bool {
        examples <= self.count_max() as u64
    }

    /// No products, with room for one for each of these examples; nothing if they would not pay.
    pub(crate) fn begin(self, examples: u64) -> Option<OuterProducts> {
        let count = usize::try_from(examples).ok().filter(|_| self.pays(examples))?;
        let room = |length| Vec::with_capacity(count * length);
        Some(OuterProducts { count: 0, left: room(self.rows), right: room(self.columns) })
    }
}
