use std::ops::AddAssign;

use folkmoot_protocol::{ClassMetrics, ClassReport};
use serde::{Deserialize, Serialize};

use super::{add_counts, share};

/// The maximum number of classes for which a confusion matrix is counted. It then has 65,536 counts.
const CONFUSION_CLASSES_MAX: usize = 256;

/// Counts of correct, predicted and actual classes, and the confusion matrix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCounts {
    /// For each class: the number of correct predictions.
    pub correct: Vec<u64>,
    /// For each class: how often the model predicted it.
    pub predicted: Vec<u64>,
    /// For each class: how many labels it has.
    pub actual: Vec<u64>,
    /// The confusion matrix, row-major. The element at row `a` and column `b` is the number of labels of class `a` for
    /// which the model predicted class `b`. Empty if there are more than 256 classes.
    pub confusion: Vec<u64>,
}

impl ClassCounts {
    /// Creates counts for this many classes, all 0.
    pub(super) fn new(classes: usize) -> Self {
        let pairs = if classes <= CONFUSION_CLASSES_MAX { classes * classes } else { 0 };
        let zeros = vec![0; classes];
        Self { correct: zeros.clone(), predicted: zeros.clone(), actual: zeros, confusion: vec![0; pairs] }
    }

    /// Returns the share of a class's predictions that are correct, or `None` if there are none.
    pub fn precision(&self, class: usize) -> Option<f64> {
        share(*self.correct.get(class)?, self.predicted[class])
    }

    /// Returns the share of a class's labels that are predicted correctly, or `None` if there are none.
    pub fn recall(&self, class: usize) -> Option<f64> {
        share(*self.correct.get(class)?, self.actual[class])
    }

    /// Returns the harmonic mean of a class's precision and recall, 2·correct / (predicted + actual). Returns `None` if
    /// the class has neither labels nor predictions.
    pub fn f1(&self, class: usize) -> Option<f64> {
        share(2 * self.correct.get(class)?, self.predicted[class] + self.actual[class])
    }

    /// Returns the mean precision over all classes with labels or predictions; a class without predictions counts as 0.
    pub fn macro_precision(&self) -> Option<f64> {
        self.mean_over_classes(Self::precision)
    }

    /// Returns the mean recall over all classes with labels or predictions; a class without labels counts as 0.
    pub fn macro_recall(&self) -> Option<f64> {
        self.mean_over_classes(Self::recall)
    }

    /// Returns the mean F1 over all classes with labels or predictions.
    pub fn macro_f1(&self) -> Option<f64> {
        self.mean_over_classes(Self::f1)
    }

    /// Returns the mean F1 over the classes, each weighted by its number of labels. Returns `None` without labels.
    pub fn weighted_f1(&self) -> Option<f64> {
        let labels: u64 = self.actual.iter().sum();
        let weighted = |class: usize| self.f1(class).unwrap_or_default() * self.actual[class] as f64;
        (labels > 0).then(|| (0..self.actual.len()).map(weighted).sum::<f64>() / labels as f64)
    }

    /// Returns the report on each class. Leaves out what exceeds its limits.
    pub fn report(&self) -> ClassReport {
        let count = self.actual.len();
        let classes = if count <= ClassReport::CLASSES_MAX { 0..count } else { 0..0 };
        let has_confusion = count <= ClassReport::CONFUSION_CLASSES_MAX && !self.confusion.is_empty();
        let rows = self.confusion.chunks(count.max(1)).filter(|_| has_confusion);
        ClassReport {
            classes: classes.map(|class| self.metrics_of(class)).collect(),
            confusion: rows.map(<[u64]>::to_vec).collect(),
        }
    }

    fn metrics_of(&self, class: usize) -> ClassMetrics {
        ClassMetrics {
            class: class as u64,
            label_count: self.actual[class],
            predicted_count: self.predicted[class],
            precision: self.precision(class),
            recall: self.recall(class),
            f1: self.f1(class),
        }
    }

    /// Returns precision, recall and F1 over all classes together. With one prediction per label, all three equal the
    /// accuracy.
    pub fn micro_f1(&self) -> Option<f64> {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        share(2 * sum(&self.correct), sum(&self.predicted) + sum(&self.actual))
    }

    /// Returns how often a label of class `actual` was predicted as class `predicted`; `None` without a confusion
    /// matrix.
    pub fn confused(&self, actual: usize, predicted: usize) -> Option<u64> {
        let classes = self.actual.len();
        let is_class = actual < classes && predicted < classes;
        self.confusion.get(actual * classes + predicted).copied().filter(|_| is_class)
    }

    fn mean_over_classes(&self, metric: fn(&Self, usize) -> Option<f64>) -> Option<f64> {
        let seen = (0..self.actual.len()).filter(|class| self.predicted[*class] + self.actual[*class] > 0);
        let (sum, count) = seen.fold((0.0, 0u32), |(sum, count), class| {
            (sum + metric(self, class).unwrap_or_default(), count + 1)
        });
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Counts one prediction; both classes must be below the number of classes.
    pub(super) fn add(&mut self, actual: usize, predicted: usize) {
        let classes = self.actual.len();
        self.actual[actual] += 1;
        self.predicted[predicted] += 1;
        self.correct[actual] += u64::from(actual == predicted);
        if let Some(count) = self.confusion.get_mut(actual * classes + predicted) {
            *count += 1;
        }
    }
}

impl AddAssign<&Self> for ClassCounts {
    /// Adds the counts of other examples with the same classes.
    fn add_assign(&mut self, other: &Self) {
        add_counts(&mut self.correct, &other.correct);
        add_counts(&mut self.predicted, &other.predicted);
        add_counts(&mut self.actual, &other.actual);
        add_counts(&mut self.confusion, &other.confusion);
    }
}
