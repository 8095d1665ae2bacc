//! The range of counts. SQL integers are signed: what a database refuses is refused here, too, so that a simulation
//! shows it.

use folkmoot_protocol::{Timestamp, update::UpdateMetrics};

use crate::{StorageError, sql::integer};

/// Refuses a count above 2^63 - 1.
pub(super) fn check_count(count: u64) -> Result<(), StorageError> {
    integer(count).map(|_| ())
}

/// Refuses any of these counts that is above 2^63 - 1.
pub(super) fn check_counts(counts: impl IntoIterator<Item = u64>) -> Result<(), StorageError> {
    counts.into_iter().try_for_each(check_count)
}

/// Refuses a moment after 2^63 - 1 milliseconds.
pub(super) fn check_moment(moment: Timestamp) -> Result<(), StorageError> {
    check_count(moment.0)
}

/// Refuses metrics with a count above 2^63 - 1.
pub(super) fn check_metrics(metrics: &UpdateMetrics) -> Result<(), StorageError> {
    check_counts([metrics.example_count, metrics.correct_count, metrics.step_count])
}
