use std::sync::Arc;

use folkmoot_aggregation::ExactMean;
use folkmoot_protocol::{RoundId, ValueGrid, update::UpdateMetrics};
use folkmoot_secure_aggregation::Ring;
use folkmoot_storage::AcceptedUpdate;
use folkmoot_unmasking::{Removal, masked_sum};

use crate::{
    MakeError, PartialSum,
    ingest::{Ingest, RoundSum},
};

/// The masks of a round's updates, and the ring in which they are removed.
#[derive(Clone)]
pub struct Masked {
    /// The ring.
    pub ring: Ring,
    /// The masks that remain on the sum.
    pub removal: Removal,
    /// True if clients have multiplied their updates by their weights.
    pub is_weighted: bool,
}

/// A sum without masks, its mean, and the metrics of all clients together.
pub(super) struct Unmasked {
    pub sum: Arc<RoundSum>,
    pub mean: ExactMean,
    pub metrics: UpdateMetrics,
}

impl Masked {
    /// Sums the masked updates, here and at edge aggregators, and removes the masks.
    pub(super) fn sum(
        &self,
        ingest: &Ingest,
        round: RoundId,
        (accepted, partial): (&[AcceptedUpdate], Option<&PartialSum>),
        (grid, parameter_count): (ValueGrid, usize),
    ) -> Result<Unmasked, MakeError> {
        let here = accepted.iter().filter(|update| update.held.is_none());
        let here: Vec<_> = here.map(|update| update.assignment_id).collect();
        let shape = (self.ring, parameter_count);
        let mut sum = masked_sum(ingest.log(), round, &here, shape)?;
        if let Some(partial) = partial.and_then(PartialSum::masked) {
            sum.add(partial);
        }
        let sum = sum.unmasked(self.ring, &self.removal);
        let (found, updates) = (sum.extras.weight, accepted.len() as u64);
        let (least, most) = (updates, updates.saturating_mul(grid.weight_max));
        if self.is_weighted && !(least..=most).contains(&found) {
            return Err(MakeError::WeightSum { found, updates, least, most });
        }
        let divisor = if self.is_weighted { found } else { updates };
        let mean = ExactMean::new(&grid, divisor.max(1) as f64).expect("the divisor is at least 1");
        let sums = Arc::new(RoundSum::of_values(round, grid, &sum.values));
        Ok(Unmasked { sum: sums, mean, metrics: sum.plausible_metrics() })
    }
}
