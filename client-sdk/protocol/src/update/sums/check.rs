use super::{ClassParts, MetricSums, SumShape, bytes::SUMS_PER_OUTPUT, has_confusion};
use crate::update::UpdateMetrics;

/// The tolerance of inequalities between rounded sums, relative.
const ROUNDING: f64 = 1e-3;

/// Why metric sums are impossible for an update.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SumFault {
    /// The sums are not of a shape that the model and the loss allow.
    #[error("the metric sums do not have the form that the plan's model and loss require")]
    Shape,
    /// The number of predictions does not follow from the number of examples.
    #[error("the metric sums count {found} predictions; {examples} examples of this model have {wanted}")]
    Predictions {
        /// The number in the sums.
        found: u64,
        /// The number of examples in the header.
        examples: u64,
        /// The number of predictions for these examples.
        wanted: u128,
    },
    /// The counts of a part do not add up to the number of predictions or labels.
    #[error("the {part} in the metric sums count {found} predictions; they must count {wanted}")]
    Count {
        /// The name of the part.
        part: &'static str,
        /// The sum of the counts.
        found: u128,
        /// The number that they must have.
        wanted: u128,
    },
    /// A class has more correct predictions than predictions or labels.
    #[error("class {class} in the metric sums has more correct predictions than predictions or labels")]
    Class {
        /// The number of the class.
        class: usize,
    },
    /// The number of correct predictions contradicts the header's number of correct examples.
    #[error(
        "the metric sums count {found} correct predictions; the header's correct_count requires {min} to {max}"
    )]
    Correct {
        /// The number of correct predictions.
        found: u128,
        /// The minimum.
        min: u128,
        /// The maximum.
        max: u128,
    },
    /// A sum is not finite, or no examples with float32 values have it.
    #[error("metric sum {index} is {found:e}, which is impossible for {examples} examples")]
    Value {
        /// The place of the sum.
        index: usize,
        /// The sum.
        found: f64,
        /// The number of examples in the header.
        examples: u64,
    },
}

impl MetricSums {
    /// Checks that the examples of `metrics` can have these sums, in one of these shapes.
    ///
    /// # Errors
    /// The first [`SumFault`].
    pub fn check(&self, shapes: &[SumShape], metrics: &UpdateMetrics) -> Result<(), SumFault> {
        match self {
            Self::Classes { classes, counts } => {
                let parts = ClassParts::of(*classes, counts).ok_or(SumFault::Shape)?;
                // Two shapes may have the same number of classes and different numbers of predictions.
                let mut outcome = Err(SumFault::Shape);
                for shape in shapes {
                    if let SumShape::Classes { classes: expected, positions } = shape
                        && expected == classes
                        && outcome.is_err()
                    {
                        outcome = check_counts(*classes, *positions, &parts, metrics);
                    }
                }
                outcome
            }
            Self::Values { sums } => {
                let is_shape = |shape: &SumShape| match shape {
                    SumShape::Values { outputs } => {
                        shape.bytes_max() > 0 && (sums.len() as u64) == outputs * SUMS_PER_OUTPUT as u64
                    }
                    SumShape::Classes { .. } => false,
                };
                if shapes.iter().any(is_shape) {
                    check_sums(sums, metrics.example_count)
                } else {
                    Err(SumFault::Shape)
                }
            }
        }
    }
}

fn check_counts(
    classes: u64,
    positions: u64,
    parts: &ClassParts<'_>,
    metrics: &UpdateMetrics,
) -> Result<(), SumFault> {
    let (examples, positions) = (metrics.example_count, u128::from(positions));
    let wanted = u128::from(examples) * positions;
    if u128::from(parts.count) != wanted {
        return Err(SumFault::Predictions { found: parts.count, examples, wanted });
    }
    let ranked = total(parts.at_rank);
    if ranked > wanted {
        return Err(SumFault::Count { part: "ranks", found: ranked, wanted });
    }
    if parts.table.is_empty() {
        return Ok(());
    }
    let classes = usize::try_from(classes).expect("a table has few classes");
    let correct = if has_confusion(classes as u64) {
        equal("confusion matrix", parts.table, wanted)?;
        total_of(parts.table.iter().step_by(classes + 1))
    } else {
        let (correct, others) = parts.table.split_at(classes);
        let (predicted, actual) = others.split_at(classes);
        equal("predictions", predicted, wanted)?;
        equal("labels", actual, wanted)?;
        let is_too_high = |class: &usize| correct[*class] > predicted[*class].min(actual[*class]);
        if let Some(class) = (0..classes).find(is_too_high) {
            return Err(SumFault::Class { class });
        }
        total(correct)
    };
    let right = u128::from(metrics.correct_count);
    let (min, max) = (right * positions, wanted.saturating_sub(u128::from(examples).saturating_sub(right)));
    if !(min..=max).contains(&correct) {
        return Err(SumFault::Correct { found: correct, min, max });
    }
    if !parts.positive.is_empty() {
        equal("scores of class 1", parts.positive, total(&parts.table[2..]))?;
        equal("scores of class 0", parts.negative, total(&parts.table[..2]))?;
    }
    Ok(())
}

fn equal(part: &'static str, counts: &[u64], wanted: u128) -> Result<(), SumFault> {
    let found = total(counts);
    if found == wanted { Ok(()) } else { Err(SumFault::Count { part, found, wanted }) }
}

fn total(counts: &[u64]) -> u128 {
    total_of(counts.iter())
}

fn total_of<'a>(counts: impl Iterator<Item = &'a u64>) -> u128 {
    counts.map(|count| u128::from(*count)).sum()
}

/// Checks sums over values of float32. The square of a sum of n numbers is at most n times the sum of their squares.
fn check_sums(sums: &[f64], examples: u64) -> Result<(), SumFault> {
    let (count, value_max) = (examples as f64, f64::from(f32::MAX));
    let outputs = sums.len() / SUMS_PER_OUTPUT;
    let fault = |index: usize| Err(SumFault::Value { index, found: sums[index], examples });
    for output in 0..outputs {
        let at = [0, 1, 2, 3].map(|kind| kind * outputs + output);
        let [squared_error, absolute_error, target, squared_target] = at.map(|index| sums[index]);
        // NaN is in no range.
        if !(0.0..=count * 4.0 * value_max * value_max).contains(&squared_error) {
            return fault(at[0]);
        }
        if !(0.0..=(count * squared_error).sqrt() * (1.0 + ROUNDING)).contains(&absolute_error) {
            return fault(at[1]);
        }
        if !(0.0..=count * value_max * value_max * (1.0 + ROUNDING)).contains(&squared_target) {
            return fault(at[3]);
        }
        if !(0.0..=(count * squared_target).sqrt() * (1.0 + ROUNDING)).contains(&target.abs()) {
            return fault(at[2]);
        }
    }
    Ok(())
}
