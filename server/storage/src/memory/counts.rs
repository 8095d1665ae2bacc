//! Range checks of counts. SQL integers are signed, so a database rejects values above 2^63 - 1. The storage in memory
//! rejects them, too, so that simulations find such errors.

use folkmoot_protocol::{Timestamp, update::UpdateMetrics};

use crate::{StorageError, sql::integer};

/// Returns an error for a count above 2^63 - 1.
pub(super) fn check_count(count: u64) -> Result<(), StorageError> {
    integer(count).map(|_| ())
}

/// Returns an error if any of these counts is above 2^63 - 1.
pub(super) fn check_counts(counts: impl IntoIterator<Item = u64>) -> Result<(), StorageError> {
    counts.into_iter().try_for_each(check_count)
}

/// Returns an error for a time after 2^63 - 1 milliseconds.
pub(super) fn check_moment(moment: Timestamp) -> Result<(), StorageError> {
    check_count(moment.0)
}

/// Returns an error for metrics with a count above 2^63 - 1.
pub(super) fn check_metrics(metrics: &UpdateMetrics) -> Result<(), StorageError> {
    check_counts([metrics.example_count, metrics.correct_count, metrics.step_count])
}
