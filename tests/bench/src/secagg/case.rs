use folkmoot_protocol::{
    BlobDigest, RoundId, TaskId, ValueGrid,
    secure::{SecureTerms, Threat},
};
use folkmoot_secure_aggregation::{Context, Ring};

use crate::Failure;

/// The value of every element of every update, in steps of the grid.
pub const VALUE: i64 = 12_345;
/// The weight and the metrics of every update.
pub const EXTRAS: [u64; 5] = [1; 5];
/// The number of values that one thread sums at a time, as in the coordinator.
pub const TILE: usize = 1 << 15;

/// A cohort, and the share of it that vanishes before the upload.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args)]
pub struct Case {
    /// The number of clients
    #[arg(long)]
    pub cohort: usize,
    /// The share of the clients that vanish
    #[arg(long)]
    pub drop_out: f64,
}

impl Case {
    /// Returns the terms of the plan. The coordinator is curious, and a tenth of the clients may help it.
    pub fn terms(&self) -> SecureTerms {
        SecureTerms {
            cohort_min: 3,
            cohort_max: self.cohort as u64,
            corrupt_share: 0.1,
            dropout_share: self.drop_out,
            threat: Threat::HonestButCurious,
            is_weighted: true,
            noise: None,
        }
    }

    /// Returns the number of clients that vanish.
    pub fn vanished(&self) -> usize {
        (self.cohort as f64 * self.drop_out).floor() as usize
    }

    /// Returns the ring of the sum.
    ///
    /// # Errors
    /// If no ring holds the sum.
    pub fn ring(&self) -> Result<Ring, Failure> {
        ring(self.cohort)
    }
}

/// Returns the ring for sums of `clients` updates with 20 fraction bits, values to 1 and weights to 500.
///
/// # Errors
/// If no ring holds the sum.
pub fn ring(clients: usize) -> Result<Ring, Failure> {
    let grid = ValueGrid { fraction_bits: 20, value_max: 1.0, weight_max: 500 };
    Ok(Ring::for_sum(&grid, clients as u64)?)
}

/// Returns the number of key stream bytes for `masks` masks of `values` values.
pub fn stream_bytes(ring: Ring, masks: usize, values: usize) -> f64 {
    masks as f64 * values as f64 * if ring.bits() <= 32 { 4.0 } else { 8.0 }
}

/// Returns the context of all rounds.
pub fn context() -> Context {
    Context {
        task_id: TaskId::from_random_bytes([1; 16]),
        round_id: RoundId::from_random_bytes([2; 16]),
        plan: BlobDigest::of(b"plan"),
        weights: BlobDigest::of(b"weights"),
    }
}
