use folkmoot_protocol::update::UpdateMetrics;
use sqlx::{Any, any::AnyArguments, query::Query};

use super::column::{Columns, integer};
use crate::StorageError;

/// Binds the columns `example_count, loss_sum_bits, correct_count, step_count`, in this order.
pub(super) fn bind_metrics<'q>(
    query: Query<'q, Any, AnyArguments>,
    metrics: &UpdateMetrics,
) -> Result<Query<'q, Any, AnyArguments>, StorageError> {
    Ok(query
        .bind(integer(metrics.example_count)?)
        .bind(metrics.loss_sum.to_bits().cast_signed())
        .bind(integer(metrics.correct_count)?)
        .bind(integer(metrics.step_count)?))
}

/// Reads the columns `example_count, loss_sum_bits, correct_count, step_count`.
pub(super) fn metrics_of(columns: &Columns<'_>) -> Result<UpdateMetrics, StorageError> {
    Ok(UpdateMetrics {
        example_count: columns.count("example_count")?,
        loss_sum: columns.float_bits("loss_sum_bits")?,
        correct_count: columns.count("correct_count")?,
        step_count: columns.count("step_count")?,
    })
}
