use super::{MetricSums, SumFault, SumShape, SumsError, bytes::take_array};
use crate::update::{MetricBounds, MetricFault, UpdateMetrics};

/// The first byte of the bytes.
const FINE_TUNED: u8 = 3;

/// The measurement after a fine-tuning, and the sums of both measurements. The header has the metrics before it.
///
/// | bytes | field |
/// |---|---|
/// | 1 | 3 |
/// | 8 | the number of held-out examples |
/// | 8 | the sum of their losses, float64 |
/// | 8 | the number of correct predictions |
/// | 8 | the number of steps of the fine-tuning |
/// | the rest | nothing, or the sums before the fine-tuning, and those after it |
#[derive(Clone, Debug, PartialEq)]
pub struct FineTuned {
    /// The metrics after the fine-tuning, with the number of its steps.
    pub metrics: UpdateMetrics,
    /// The sums before and after the fine-tuning. `None` if the labels allow none.
    pub sums: Option<[MetricSums; 2]>,
}

/// Why a measurement after a fine-tuning is impossible for an update.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FineTunedFault {
    /// The metrics are impossible.
    #[error("after the fine-tuning, {0}")]
    Metrics(#[from] MetricFault),
    /// The two measurements are of different examples.
    #[error("{after} examples were measured after the fine-tuning, but {before} before it")]
    Examples {
        /// The number before the fine-tuning.
        before: u64,
        /// The number after it.
        after: u64,
    },
    /// Sums are impossible.
    #[error(transparent)]
    Sums(#[from] SumFault),
}

impl FineTuned {
    /// The number of bytes without sums.
    pub const BYTES_MIN: u64 = 33;

    /// Appends the bytes to an update.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let UpdateMetrics { example_count, loss_sum, correct_count, step_count } = self.metrics;
        bytes.push(FINE_TUNED);
        bytes.extend(example_count.to_le_bytes());
        bytes.extend(loss_sum.to_le_bytes());
        bytes.extend(correct_count.to_le_bytes());
        bytes.extend(step_count.to_le_bytes());
        self.sums.iter().flatten().for_each(|sums| sums.append_to(bytes));
    }

    /// Reads the bytes after the header of an update. The numbers must still be checked: see [`FineTuned::check`].
    ///
    /// # Errors
    /// [`SumsError`] if the bytes do not have this form.
    pub fn decode(bytes: &[u8]) -> Result<Self, SumsError> {
        let mut rest = bytes;
        let [form] = take_array(&mut rest)?;
        if form != FINE_TUNED {
            return Err(SumsError::NotFineTuned(form));
        }
        let metrics = UpdateMetrics {
            example_count: take_array(&mut rest).map(u64::from_le_bytes)?,
            loss_sum: take_array(&mut rest).map(f64::from_le_bytes)?,
            correct_count: take_array(&mut rest).map(u64::from_le_bytes)?,
            step_count: take_array(&mut rest).map(u64::from_le_bytes)?,
        };
        if rest.is_empty() {
            return Ok(Self { metrics, sums: None });
        }
        let sums = [MetricSums::take(&mut rest)?, MetricSums::take(&mut rest)?];
        if rest.is_empty() { Ok(Self { metrics, sums: Some(sums) }) } else { Err(SumsError::TooLong) }
    }

    /// Checks that a client can have measured this, given the metrics of the header.
    ///
    /// # Errors
    /// The first [`FineTunedFault`].
    pub fn check(
        &self,
        shapes: &[SumShape],
        bounds: MetricBounds,
        header: &UpdateMetrics,
    ) -> Result<(), FineTunedFault> {
        bounds.check(&self.metrics)?;
        let (before, after) = (header.example_count, self.metrics.example_count);
        if before != after {
            return Err(FineTunedFault::Examples { before, after });
        }
        for (sums, metrics) in self.sums.iter().flatten().zip([header, &self.metrics]) {
            sums.check(shapes, metrics)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalOptimizer, Loss, TrainingPlan, Work};

    fn measured() -> FineTuned {
        let sums = |one: f64| MetricSums::Values { sums: vec![one, 0.5, 1.0, 2.0] };
        let metrics = UpdateMetrics { example_count: 3, loss_sum: 0.5, correct_count: 2, step_count: 4 };
        FineTuned { metrics, sums: Some([sums(0.75), sums(0.25)]) }
    }

    fn bytes(one: &FineTuned) -> Vec<u8> {
        let mut bytes = Vec::new();
        one.append_to(&mut bytes);
        bytes
    }

    #[test]
    fn decoding_undoes_encoding_and_refuses_everything_else() {
        let short = FineTuned { sums: None, ..measured() };
        assert_eq!(bytes(&short).len() as u64, FineTuned::BYTES_MIN);
        for one in [measured(), short] {
            let bytes = bytes(&one);
            assert_eq!(FineTuned::decode(&bytes), Ok(one));
            for end in (0..bytes.len()).filter(|end| *end != 33) {
                assert_eq!(FineTuned::decode(&bytes[..end]), Err(SumsError::TooShort), "{end} bytes");
            }
        }
        let mut longer = bytes(&measured());
        longer.push(0);
        assert_eq!(FineTuned::decode(&longer), Err(SumsError::TooLong));
        assert_eq!(FineTuned::decode(&[2, 0]), Err(SumsError::NotFineTuned(2)));
    }

    #[test]
    fn impossible_measurements_are_refused() {
        let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1));
        let bounds = MetricBounds::of(&plan, Work::Evaluation, false);
        let header = UpdateMetrics { example_count: 3, loss_sum: 1.0, correct_count: 0, step_count: 0 };
        let fault = |change: fn(&mut FineTuned)| {
            let mut one = measured();
            change(&mut one);
            one.check(&[SumShape::Values { outputs: 1 }], bounds, &header)
        };
        assert_eq!(fault(|_| {}), Ok(()));
        assert_eq!(fault(|one| one.sums = None), Ok(()));
        let other = fault(|one| one.metrics.example_count = 4);
        assert_eq!(other, Err(FineTunedFault::Examples { before: 3, after: 4 }));
        assert!(matches!(fault(|one| one.metrics.loss_sum = f64::NAN), Err(FineTunedFault::Metrics(_))));
        assert!(matches!(fault(|one| one.metrics.correct_count = 4), Err(FineTunedFault::Metrics(_))));
        let negative = |one: &mut FineTuned| {
            let Some([_, MetricSums::Values { sums }]) = &mut one.sums else { unreachable!() };
            sums[0] = -1.0;
        };
        assert!(matches!(fault(negative), Err(FineTunedFault::Sums(SumFault::Value { index: 0, .. }))));
    }
}
