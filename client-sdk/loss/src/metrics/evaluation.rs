use std::ops::AddAssign;

use folkmoot_protocol::{ClassReport, Loss, Metric, MetricValues};
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
    /// Returns the metrics that the examples allow.
    pub fn values(&self) -> MetricValues {
        MetricValues::new(Metric::ALL.map(|metric| (metric, self.value(metric))))
    }

    /// Returns the value of a metric. Returns `None` if the loss and the labels do not allow it, or if there are too
    /// few examples.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let (classes, numbers) = (self.classification.as_ref(), self.regression.as_ref());
        match metric {
            Metric::Loss => self.metrics.mean_loss(),
            Metric::Accuracy => classes.and_then(|_| self.metrics.accuracy()),
            Metric::TopFiveAccuracy => classes?.ranks.top_k(5),
            Metric::PrecisionMacro => classes?.classes.macro_precision(),
            Metric::RecallMacro => classes?.classes.macro_recall(),
            Metric::F1Macro => classes?.classes.macro_f1(),
            Metric::F1Weighted => classes?.classes.weighted_f1(),
            Metric::RocAuc => classes?.area_under_curve(),
            Metric::Perplexity => classes?.perplexity(),
            Metric::Rmse => numbers?.root_mean_squared_error(),
            Metric::Mae => numbers?.mean_absolute_error(),
            Metric::R2 => numbers?.r_squared(),
        }
    }

    /// Returns whether the loss and the labels allow a metric, given enough examples.
    pub fn allows(&self, metric: Metric) -> bool {
        let classes = self.classification.as_ref();
        match metric {
            Metric::Loss => true,
            Metric::RocAuc => classes.is_some_and(|sums| sums.scores.is_some()),
            Metric::Perplexity => classes.is_some_and(|sums| sums.cross_entropy.is_some()),
            Metric::Rmse | Metric::Mae | Metric::R2 => self.regression.is_some(),
            Metric::Accuracy
            | Metric::TopFiveAccuracy
            | Metric::PrecisionMacro
            | Metric::RecallMacro
            | Metric::F1Macro
            | Metric::F1Weighted => classes.is_some(),
        }
    }

    /// Returns the report on each class, or `None` if the labels are not classes.
    pub fn class_report(&self) -> Option<ClassReport> {
        self.classification.as_ref().map(|sums| sums.classes.report())
    }

    /// Measures the outputs of a batch; see [`score()`].
    pub fn of_batch(loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) -> Self {
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
