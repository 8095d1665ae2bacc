use super::{CLASSES_MAX, OUTPUTS_MAX, bytes::SUMS_PER_OUTPUT, count_len};
use crate::{Loss, Metric};

/// The maximum number of bytes of a varint.
const VARINT_BYTES_MAX: usize = 10;

/// A form of sums that a model's output, the loss and the labels allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumShape {
    /// The labels are classes.
    Classes {
        /// The number of classes.
        classes: u64,
        /// The number of predictions for each example: more than 1 for sequences, and for several binary outputs.
        positions: u64,
    },
    /// The labels are values to approximate.
    Values {
        /// The number of values for each example.
        outputs: u64,
    },
}

impl SumShape {
    /// Returns the maximum number of bytes of sums of this shape; 0 if clients send none, because there are too many
    /// outputs.
    pub fn bytes_max(self) -> u64 {
        let bytes = match self {
            Self::Classes { classes, .. } => 1 + VARINT_BYTES_MAX * (1 + count_len(classes)),
            Self::Values { outputs } if outputs > OUTPUTS_MAX as u64 => 0,
            Self::Values { .. } => 1 + VARINT_BYTES_MAX + 8 * SUMS_PER_OUTPUT * OUTPUTS_MAX,
        };
        bytes as u64
    }

    /// Returns whether the coordinator can compute a metric from sums of this shape, given enough examples. The loss
    /// itself needs no sums.
    pub fn allows(self, metric: Metric, loss: Loss) -> bool {
        let Self::Classes { classes, .. } = self else {
            return match metric {
                Metric::Rmse | Metric::Mae | Metric::R2 => self.bytes_max() > 0,
                _ => metric == Metric::Loss,
            };
        };
        match metric {
            Metric::Loss | Metric::Accuracy | Metric::TopFiveAccuracy => true,
            Metric::PrecisionMacro | Metric::RecallMacro | Metric::F1Macro | Metric::F1Weighted => {
                classes <= CLASSES_MAX as u64
            }
            Metric::RocAuc => classes == 2,
            Metric::Perplexity => loss == Loss::SoftmaxCrossEntropy,
            Metric::Rmse | Metric::Mae | Metric::R2 => false,
        }
    }
}
