//! The sums of an evaluation, from which the coordinator computes every metric over the examples of all clients.
//!
//! They follow the header of an evaluation's update if [`crate::messages::Assignment::metric_sums`] asks for them. The
//! header's element count stays 0. If the plan fine-tunes, [`FineTuned`] follows instead.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | 1: class counts, 2: sums of values |
//! | varint | class counts: the number of classes. Sums of values: the number of outputs |
//! | the rest | class counts: counts as varints, a run of zeros as 0 and its length minus 1. Sums of values: float64 |
//!
//! Varints are LEB128, floats little-endian. The number of counts or floats follows from the second field.

mod bytes;
mod check;
mod fine_tuned;
mod shape;

pub use bytes::SumsError;
pub use check::SumFault;
pub use fine_tuned::{FineTuned, FineTunedFault};
pub use shape::SumShape;

/// The number of ranks that [`MetricSums::Classes`] counts.
pub const RANKS: usize = 10;
/// The number of score buckets of each class, if there are two classes.
pub const SCORE_BUCKETS: usize = 1024;
/// The maximum number of classes with a confusion matrix.
pub const CONFUSION_CLASSES_MAX: usize = 64;
/// The maximum number of classes that are counted one by one.
pub const CLASSES_MAX: usize = 1024;
/// The maximum number of outputs with sums of values.
pub const OUTPUTS_MAX: usize = 1024;

/// The sums over a client's examples.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricSums {
    /// Counts of predictions, if labels are classes. They add up exactly.
    Classes {
        /// The number of classes.
        classes: u64,
        /// The counts, in the order of [`ClassParts`].
        counts: Vec<u64>,
    },
    /// Sums over target values, in double precision.
    Values {
        /// For each output, Σ (x − t)²; then, for each output, Σ |x − t|; then Σ t; then Σ t². `x` is the output and `t`
        /// the target.
        sums: Vec<f64>,
    },
}

/// The parts of [`MetricSums::Classes`], in this order.
#[derive(Clone, Copy, Debug)]
pub struct ClassParts<'a> {
    /// The number of predictions.
    pub count: u64,
    /// For each rank from the first to the tenth: the number of predictions that gave the correct class this rank.
    pub at_rank: &'a [u64],
    /// Up to 64 classes: the confusion matrix, row-major. Row `a` is the label and column `b` the prediction. Up to
    /// 1,024 classes: the correct predictions of each class, then its predictions, then its labels. Otherwise empty.
    pub table: &'a [u64],
    /// The scores of the predictions with label 1, in buckets. Empty unless there are two classes.
    pub positive: &'a [u64],
    /// The scores of the predictions with label 0, in buckets. Empty unless there are two classes.
    pub negative: &'a [u64],
}

impl<'a> ClassParts<'a> {
    /// Divides counts into their parts. Returns `None` if their number does not fit the number of classes.
    pub fn of(classes: u64, counts: &'a [u64]) -> Option<Self> {
        if counts.len() != count_len(classes) {
            return None;
        }
        let (first, rest) = counts.split_first()?;
        let (at_rank, rest) = rest.split_at(RANKS);
        let (table, scores) = rest.split_at(table_len(classes));
        let (positive, negative) = scores.split_at(scores.len() / 2);
        Some(Self { count: *first, at_rank, table, positive, negative })
    }

    /// Returns whether the table of this many classes has counts.
    pub fn has_table(classes: u64) -> bool {
        table_len(classes) > 0
    }

    /// Returns the counts in one list, the inverse of [`ClassParts::of`].
    pub fn to_counts(&self) -> Vec<u64> {
        [&[self.count], self.at_rank, self.table, self.positive, self.negative].concat()
    }
}

/// Returns whether this many classes are counted in a confusion matrix.
pub fn has_confusion(classes: u64) -> bool {
    classes <= CONFUSION_CLASSES_MAX as u64
}

/// Returns the number of counts in [`ClassParts::table`].
fn table_len(classes: u64) -> usize {
    match usize::try_from(classes) {
        Ok(classes) if has_confusion(classes as u64) => classes * classes,
        Ok(classes) if classes <= CLASSES_MAX => 3 * classes,
        _ => 0,
    }
}

/// Returns the number of counts for this many classes.
fn count_len(classes: u64) -> usize {
    let scores = if classes == 2 { 2 * SCORE_BUCKETS } else { 0 };
    1 + RANKS + table_len(classes) + scores
}

#[cfg(test)]
mod tests;
