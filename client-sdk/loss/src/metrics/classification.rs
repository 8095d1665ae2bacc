use std::ops::AddAssign;

use folkmoot_protocol::Loss;
use serde::{Deserialize, Serialize};

use super::{ClassCounts, RankCounts, ScoreHistogram, largest};
use crate::loss::{LabelForm, Layout, example_loss};

/// Sums over predictions: one for each example, or for each position of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassificationSums {
    /// Accuracy and top-k accuracy.
    pub ranks: RankCounts,
    /// Precision, recall, F1 and confusion.
    pub classes: ClassCounts,
    /// The sum of −log softmax(x) at the correct class, if the loss is softmax cross-entropy.
    pub cross_entropy: Option<f64>,
    /// The scores of both classes, if there are exactly two.
    pub scores: Option<ScoreHistogram>,
}

impl ClassificationSums {
    /// Returns the perplexity, e to the mean cross-entropy (Jelinek et al. 1977): the number of equally likely classes
    /// with the same uncertainty. Returns `None` for other losses, or without predictions.
    pub fn perplexity(&self) -> Option<f64> {
        let mean = self.cross_entropy? / self.ranks.count as f64;
        (self.ranks.count > 0).then(|| mean.exp())
    }

    /// Returns the area under the ROC curve, for two classes.
    pub fn area_under_curve(&self) -> Option<f64> {
        self.scores.as_ref().and_then(ScoreHistogram::area_under_curve)
    }

    /// Creates empty sums, or returns `None` if the labels are not classes.
    pub(super) fn new(loss: Loss, layout: &Layout) -> Option<Self> {
        let classes = match (layout.form, loss) {
            (LabelForm::Classes, _) => layout.classes,
            (LabelForm::Values, Loss::BinaryCrossEntropy | Loss::Hinge) => 2,
            (LabelForm::Values | LabelForm::Ignored(_), _) => return None,
        };
        Some(Self {
            ranks: RankCounts::default(),
            classes: ClassCounts::new(classes),
            cross_entropy: (loss == Loss::SoftmaxCrossEntropy).then_some(0.0),
            scores: (classes == 2).then(ScoreHistogram::default),
        })
    }

    /// Counts the predictions of one example.
    pub(super) fn add(&mut self, loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) {
        if layout.form == LabelForm::Values {
            for (score, target) in outputs.iter().zip(labels) {
                // A single logit x is the difference between logit x of class 1 and logit 0 of class 0.
                self.decide(&[0.0, *score], usize::from(*target > 0.5));
            }
            return;
        }
        for (outputs, class) in outputs.chunks_exact(layout.classes).zip(labels) {
            self.decide(outputs, *class as usize);
        }
        if let Some(sum) = &mut self.cross_entropy {
            *sum += example_loss(loss, layout, outputs, labels) * labels.len() as f64;
        }
    }

    fn decide(&mut self, outputs: &[f32], class: usize) {
        self.ranks.add(outputs, class);
        self.classes.add(class, largest(outputs));
        if let (Some(scores), [negative, positive]) = (&mut self.scores, outputs) {
            scores.add(f64::from(*positive) - f64::from(*negative), class == 1);
        }
    }
}

impl AddAssign<&Self> for ClassificationSums {
    fn add_assign(&mut self, other: &Self) {
        self.ranks += &other.ranks;
        self.classes += &other.classes;
        if let Some(sum) = other.cross_entropy {
            *self.cross_entropy.get_or_insert_default() += sum;
        }
        if let Some(scores) = &other.scores {
            *self.scores.get_or_insert_default() += scores;
        }
    }
}
