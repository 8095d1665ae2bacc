//! Metrics of a model on labelled examples.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// A metric of a model on labelled examples.
///
/// Metrics of classes treat an example with several positions as several predictions. "Macro" is the mean over all
/// classes with labels or predictions, in which each class counts equally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The share of correct predictions. Higher is better.
    #[default]
    Accuracy,
    /// The mean loss. Lower is better.
    Loss,
    /// The share of predictions whose correct class is among the five largest outputs. Higher is better.
    #[serde(rename = "top_5_accuracy")]
    TopFiveAccuracy,
    /// The macro precision. Higher is better.
    PrecisionMacro,
    /// The macro recall, also called balanced accuracy. Higher is better.
    RecallMacro,
    /// The macro F1 score. Higher is better.
    F1Macro,
    /// The mean F1 score over the classes, weighted by each class's number of labels. Higher is better.
    F1Weighted,
    /// The area under the ROC curve, for two classes. Higher is better.
    RocAuc,
    /// e to the mean cross-entropy of a prediction, for `softmax_cross_entropy`. Lower is better.
    Perplexity,
    /// The root of the mean squared error. Lower is better.
    Rmse,
    /// The mean absolute error. Lower is better.
    Mae,
    /// The coefficient of determination R². Higher is better.
    R2,
}

impl Metric {
    /// All metrics, in the order in which lists show them.
    pub const ALL: [Self; 12] = [
        Self::Accuracy,
        Self::Loss,
        Self::TopFiveAccuracy,
        Self::PrecisionMacro,
        Self::RecallMacro,
        Self::F1Macro,
        Self::F1Weighted,
        Self::RocAuc,
        Self::Perplexity,
        Self::Rmse,
        Self::Mae,
        Self::R2,
    ];

    /// Returns the name in task files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Loss => "loss",
            Self::TopFiveAccuracy => "top_5_accuracy",
            Self::PrecisionMacro => "precision_macro",
            Self::RecallMacro => "recall_macro",
            Self::F1Macro => "f1_macro",
            Self::F1Weighted => "f1_weighted",
            Self::RocAuc => "roc_auc",
            Self::Perplexity => "perplexity",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::R2 => "r2",
        }
    }

    /// Returns the name in sentences, without an article: "macro F1 score".
    pub fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Loss => "mean loss",
            Self::TopFiveAccuracy => "top-5 accuracy",
            Self::PrecisionMacro => "macro precision",
            Self::RecallMacro => "macro recall",
            Self::F1Macro => "macro F1 score",
            Self::F1Weighted => "weighted F1 score",
            Self::RocAuc => "area under the ROC curve",
            Self::Perplexity => "perplexity",
            Self::Rmse => "root mean squared error",
            Self::Mae => "mean absolute error",
            Self::R2 => "R²",
        }
    }

    /// Returns whether a higher value is better.
    pub fn is_higher_better(self) -> bool {
        !matches!(self, Self::Loss | Self::Perplexity | Self::Rmse | Self::Mae)
    }

    /// Returns whether `value` is better than `other` by more than `margin`.
    pub fn is_better(self, value: f64, other: f64, margin: f64) -> bool {
        match self.is_higher_better() {
            true => value > other + margin,
            false => value < other - margin,
        }
    }

    /// Returns whether `value` is at least as good as `target`.
    pub fn is_as_good(self, value: f64, target: f64) -> bool {
        match self.is_higher_better() {
            true => value >= target,
            false => value <= target,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The values of the metrics that were measured; all are finite. In JSON, an object from names to numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricValues(BTreeMap<Metric, f64>);

impl MetricValues {
    /// Collects metrics with their values. Leaves out metrics without a finite value.
    pub fn new(values: impl IntoIterator<Item = (Metric, Option<f64>)>) -> Self {
        let measured = values.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
        Self(measured.filter(|(_, value)| value.is_finite()).collect())
    }

    /// Returns the value of a metric; `None` if it was not measured.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    /// Returns the metrics that were measured with their values, in the order of [`Metric::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> {
        self.0.iter().map(|(metric, value)| (*metric, *value))
    }

    /// Returns whether no metric was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The predictions of a classifier, class by class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClassReport {
    /// One entry for each class, in the order of the class numbers. Empty above [`ClassReport::CLASSES_MAX`] classes.
    pub classes: Vec<ClassMetrics>,
    /// The confusion matrix: row `a`, column `b` is the number of labels of class `a` for which the model predicted
    /// class `b`. Empty above [`ClassReport::CONFUSION_CLASSES_MAX`] classes.
    pub confusion: Vec<Vec<u64>>,
}

impl ClassReport {
    /// The maximum number of classes that are listed.
    pub const CLASSES_MAX: usize = 1024;
    /// The maximum number of classes with a confusion matrix.
    pub const CONFUSION_CLASSES_MAX: usize = 64;
}

/// The predictions of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClassMetrics {
    /// The class number.
    pub class: u64,
    /// The number of labels of this class.
    pub label_count: u64,
    /// The number of predictions of this class.
    pub predicted_count: u64,
    /// The share of the predictions of this class that are correct, 0 to 1. Null without predictions.
    pub precision: Option<f64>,
    /// The share of the labels of this class that are predicted correctly, 0 to 1. Null without labels.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall, 0 to 1. Null if the class has neither labels nor predictions.
    pub f1: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
        assert!(Metric::ALL.is_sorted());
    }

    #[test]
    fn errors_are_better_when_lower() {
        assert!(Metric::Rmse.is_better(1.0, 2.0, 0.5) && !Metric::Rmse.is_better(1.0, 1.4, 0.5));
        assert!(Metric::R2.is_better(0.9, 0.3, 0.5) && !Metric::R2.is_better(0.7, 0.3, 0.5));
        assert!(Metric::Mae.is_as_good(0.5, 0.5) && !Metric::RocAuc.is_as_good(0.4, 0.5));
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let values = MetricValues::new([
            (Metric::R2, Some(0.5)),
            (Metric::Loss, Some(f64::NAN)),
            (Metric::Mae, None),
            (Metric::Accuracy, Some(0.25)),
        ]);
        assert_eq!(serde_json::to_string(&values).unwrap(), r#"{"accuracy":0.25,"r2":0.5}"#);
        assert_eq!((values.get(Metric::R2), values.get(Metric::Loss)), (Some(0.5), None));
        assert_eq!(serde_json::from_str::<MetricValues>(r#"{"accuracy":0.25,"r2":0.5}"#).unwrap(), values);
    }
}
