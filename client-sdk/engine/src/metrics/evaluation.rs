use std::ops::AddAssign;

use folkmoot_protocol::Loss;
use serde::{Deserialize, Serialize};

use super::score::rows;
use super::{ClassificationSums, Metrics, RegressionSums, score};
use crate::loss::{LabelForm, Layout};

/// All metrics over a data set, as sums. The evaluations of the parts of a data set add up to that of the whole set.
///
/// Counts add up exactly; sums of losses and errors add up with the rounding of double precision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The number of examples, the loss and the correct predictions.
    pub metrics: Metrics,
    /// Present if labels are classes: class numbers, or targets of binary cross-entropy and hinge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<ClassificationSums>,
    /// Present if labels are values to approximate: squared, absolute, Huber and cosine losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<RegressionSums>,
}

impl Evaluation {
    /// Measures the outputs of a batch; see [`score()`].
    pub(crate) fn of_batch(loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) -> Self {
        let mut evaluation = Self {
            metrics: score(loss, layout, outputs, labels),
            classification: ClassificationSums::new(loss, layout),
            regression: is_regression(loss, layout).then(RegressionSums::default),
        };
        for (outputs, labels) in rows(layout, outputs, labels) {
            if let Some(sums) = &mut evaluation.classification {
                sums.add(loss, layout, outputs, labels);
            }
            if let Some(sums) = &mut evaluation.regression {
                sums.add(outputs, labels);
            }
        }
        evaluation
    }
}

fn is_regression(loss: Loss, layout: &Layout) -> bool {
    let has_values =
        matches!(loss, Loss::MeanSquaredError | Loss::MeanAbsoluteError | Loss::Huber { .. } | Loss::Cosine);
    has_values && layout.form == LabelForm::Values
}

impl AddAssign<&Self> for Evaluation {
    fn add_assign(&mut self, other: &Self) {
        self.metrics += other.metrics;
        match (&mut self.classification, &other.classification) {
            (Some(sums), Some(others)) => *sums += others,
            (sums @ None, Some(others)) => *sums = Some(others.clone()),
            (_, None) => {}
        }
        match (&mut self.regression, &other.regression) {
            (Some(sums), Some(others)) => *sums += others,
            (sums @ None, Some(others)) => *sums = Some(others.clone()),
            (_, None) => {}
        }
    }
}
