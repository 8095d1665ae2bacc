use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId, RoundId,
    limits::COUNT_MAX,
    saturating::to_length,
    secure::{CommitteeSeal, EXTRAS, MASKED_HEADER_BYTES, MaskedExtras},
    update::UpdateMetrics,
};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_secure_aggregation::{Masks, Ring, Segment, Unpacker, packed_bytes};
use rayon::prelude::*;

/// The number of values that one thread sums at a time, a multiple of 8, so that a tile begins at a whole byte.
const TILE: usize = 1 << 15;

/// The sum of a round's updates, without masks.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskedSum {
    /// The sum of each value, on the task's grid.
    pub values: Vec<i64>,
    /// The sums of the weights and metrics.
    pub extras: MaskedExtras,
}

impl MaskedSum {
    /// Returns the metrics, or none if a client has sent numbers that no training has. They are only shown.
    pub fn plausible_metrics(&self) -> UpdateMetrics {
        let metrics = self.extras.metrics;
        let UpdateMetrics { example_count, correct_count, step_count, .. } = metrics;
        let is_count = |count: u64| count <= COUNT_MAX;
        let are_counts = is_count(example_count) && is_count(correct_count) && is_count(step_count);
        if are_counts && correct_count <= example_count { metrics } else { UpdateMetrics::default() }
    }
}

/// The masks on a sum, in the form in which they become known.
#[derive(Clone)]
pub enum Removal {
    /// Masks to expand.
    Masks(Masks),
    /// The negative sum of all masks, from a committee.
    Sums(Arc<RingSums>),
}

/// Sums of elements of a ring, modulo 2^64: of masked updates, or of masks.
#[derive(Debug, PartialEq, Eq)]
pub struct RingSums {
    /// For each value, not reduced.
    pub values: Vec<u64>,
    /// For each extra.
    pub extras: [u64; EXTRAS],
}

impl RingSums {
    /// Adds the sums of other updates.
    pub fn add(&mut self, more: &Self) {
        add(&mut self.values, &more.values);
        add(&mut self.extras, &more.extras);
    }

    /// Removes the masks from a sum of masked updates. All threads share the work.
    pub fn unmasked(mut self, ring: Ring, removal: &Removal) -> MaskedSum {
        self.values.par_chunks_mut(TILE).enumerate().for_each(|(index, tile)| {
            removal.remove(ring, index * TILE, tile);
        });
        removal.remove_extras(&mut self.extras);
        let values = self.values.into_iter().map(|sum| ring.lift(ring.reduce(sum))).collect();
        MaskedSum { values, extras: MaskedExtras::from_words(self.extras) }
    }
}

impl Removal {
    /// Removes the masks from the values from index `first`.
    fn remove(&self, ring: Ring, first: usize, sums: &mut [u64]) {
        match self {
            Removal::Masks(masks) => masks.add_to(Segment::Values(ring), first as u64, sums),
            Removal::Sums(found) => add(sums, &found.values[first..]),
        }
    }

    fn remove_extras(&self, sums: &mut [u64; EXTRAS]) {
        match self {
            Removal::Masks(masks) => masks.add_to(Segment::Extras, 0, sums),
            Removal::Sums(found) => add(sums, &found.extras),
        }
    }
}

pub(crate) fn add(sums: &mut [u64], terms: &[u64]) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum = sum.wrapping_add(*term));
}

/// Adds the masked updates of a round. All threads share the work; each holds one tile and one piece of an update at a time.
///
/// # Errors
/// [`RoundLogError`] if an update cannot be read.
pub fn masked_sum(
    log: &RoundLog,
    round: RoundId,
    accepted: &[AssignmentId],
    (ring, parameter_count): (Ring, usize),
) -> Result<RingSums, RoundLogError> {
    let mut sums = vec![0u64; parameter_count];
    sums.par_chunks_mut(TILE).enumerate().try_for_each(|(index, tile)| {
        let first = (index * TILE) as u64;
        let mut elements = Vec::with_capacity(tile.len());
        let mut bytes = vec![0; to_length(packed_bytes(ring, tile.len() as u64))];
        for assignment in accepted {
            let from = MASKED_HEADER_BYTES as u64 + packed_bytes(ring, first);
            read(log, round, *assignment, from, &mut bytes)?;
            elements.clear();
            Unpacker::new(ring, tile.len() as u64).push(&bytes, &mut elements);
            add(tile, &elements);
        }
        Ok(())
    })?;
    let mut extras = [0u64; EXTRAS];
    let mut bytes = [0; 8 * EXTRAS];
    for assignment in accepted {
        let from = MASKED_HEADER_BYTES as u64 + packed_bytes(ring, parameter_count as u64);
        read(log, round, *assignment, from, &mut bytes)?;
        let words = bytes.as_chunks::<8>().0;
        extras
            .iter_mut()
            .zip(words)
            .for_each(|(sum, word)| *sum = sum.wrapping_add(u64::from_le_bytes(*word)));
    }
    Ok(RingSums { values: sums, extras })
}

/// Returns the number of bytes of a masked update, without what may follow for a committee.
pub fn masked_bytes(ring: Ring, parameter_count: u64) -> u64 {
    (MASKED_HEADER_BYTES + 8 * EXTRAS) as u64 + packed_bytes(ring, parameter_count)
}

/// Returns the bytes that follow a masked update: the seeds that the client encrypted for a committee.
///
/// # Errors
/// [`RoundLogError`] if the update cannot be read, or is too short.
pub(crate) fn read_seal(
    log: &RoundLog,
    round: RoundId,
    assignment: AssignmentId,
    (ring, parameter_count): (Ring, u64),
    bytes: usize,
) -> Result<CommitteeSeal, RoundLogError> {
    let mut seal = vec![0; bytes];
    read(log, round, assignment, masked_bytes(ring, parameter_count), &mut seal)?;
    Ok(CommitteeSeal(seal))
}

fn read(
    log: &RoundLog,
    round: RoundId,
    assignment: AssignmentId,
    from: u64,
    bytes: &mut [u8],
) -> Result<(), RoundLogError> {
    let mut reader = log.read(round, assignment)?;
    let wanted = from + bytes.len() as u64;
    if reader.len() < wanted {
        return Err(RoundLogError::TooShort { len: reader.len(), wanted });
    }
    reader.seek(from)?;
    let count = reader.read_tile(bytes)?;
    if count < bytes.len() {
        return Err(RoundLogError::TooShort { len: from + count as u64, wanted });
    }
    Ok(())
}
