use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{add_counts, share};

/// Classes of which all pairs are counted, at most: 65,536 numbers.
const CONFUSION_CLASSES_MAX: usize = 256;

/// How often each class was right, found and there, and which was taken for which.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCounts {
    /// For each class: decisions for it that were right.
    pub correct: Vec<u64>,
    /// For each class: decisions for it.
    pub predicted: Vec<u64>,
    /// For each class: labels of it.
    pub actual: Vec<u64>,
    /// Row-major, label by decision: how often a label of the row's class was taken for the column's. Empty if there
    /// are more than 256 classes.
    pub confusion: Vec<u64>,
}

impl ClassCounts {
    /// Counts of this many classes, all 0.
    pub(super) fn new(classes: usize) -> Self {
        let pairs = if classes <= CONFUSION_CLASSES_MAX { classes * classes } else { 0 };
        let zeros = vec![0; classes];
        Self { correct: zeros.clone(), predicted: zeros.clone(), actual: zeros, confusion: vec![0; pairs] }
    }

    /// The share of the decisions for a class that were right, or `None` if there were none.
    pub fn precision(&self, class: usize) -> Option<f64> {
        share(*self.correct.get(class)?, self.predicted[class])
    }

    /// The share of a class's labels that were found, or `None` if there are none.
    pub fn recall(&self, class: usize) -> Option<f64> {
        share(*self.correct.get(class)?, self.actual[class])
    }

    /// The harmonic mean of precision and recall of a class, 2·correct / (predicted + actual), or `None` if it
    /// neither was there nor was found.
    pub fn f1(&self, class: usize) -> Option<f64> {
        share(2 * self.correct.get(class)?, self.predicted[class] + self.actual[class])
    }

    /// The mean precision over the classes that were there or found, where no decision counts as 0.
    pub fn macro_precision(&self) -> Option<f64> {
        self.mean_over_classes(Self::precision)
    }

    /// The mean recall over the classes that were there or found, where no label counts as 0.
    pub fn macro_recall(&self) -> Option<f64> {
        self.mean_over_classes(Self::recall)
    }

    /// The mean F1 over the classes that were there or found.
    pub fn macro_f1(&self) -> Option<f64> {
        self.mean_over_classes(Self::f1)
    }

    /// Precision, recall and F1 over all classes together: with one decision for each label all three are the
    /// accuracy.
    pub fn micro_f1(&self) -> Option<f64> {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        share(2 * sum(&self.correct), sum(&self.predicted) + sum(&self.actual))
    }

    /// How often a label of one class was taken for another; `None` if that was not counted.
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

    /// Counts one decision; both classes are below the number of classes.
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
    /// Adds the counts of the same classes.
    fn add_assign(&mut self, other: &Self) {
        add_counts(&mut self.correct, &other.correct);
        add_counts(&mut self.predicted, &other.predicted);
        add_counts(&mut self.actual, &other.actual);
        add_counts(&mut self.confusion, &other.confusion);
    }
}
