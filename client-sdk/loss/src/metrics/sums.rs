//! Evaluations as the sums that clients send.

use folkmoot_protocol::{
    Loss,
    update::sums::{ClassParts, MetricSums, SCORE_BUCKETS, SumShape, has_confusion},
};

use super::{
    ClassCounts, ClassificationSums, Evaluation, Metrics, RankCounts, RegressionSums, ScoreHistogram,
};
use crate::loss::{LabelForm, Layout};

/// Returns the shapes of the sums that a client can send about a model with these outputs and this loss. The client's
/// labels decide between them. `output_shape` is the shape of one example's outputs.
pub fn sum_shapes(output_shape: &[usize], loss: Loss) -> Vec<SumShape> {
    let values = Layout::new(output_shape, LabelForm::Values);
    let outputs = values.outputs_per_example() as u64;
    let of_classes = || {
        let layout = Layout::new(output_shape, LabelForm::Classes);
        let (classes, positions) = (layout.classes as u64, layout.labels_per_example() as u64);
        (!output_shape.is_empty()).then_some(SumShape::Classes { classes, positions })
    };
    match loss {
        Loss::SoftmaxCrossEntropy
        | Loss::GeneralizedCrossEntropy { .. }
        | Loss::SymmetricCrossEntropy { .. } => of_classes().into_iter().collect(),
        Loss::BinaryCrossEntropy | Loss::Hinge => {
            let binary = SumShape::Classes { classes: 2, positions: outputs };
            [binary].into_iter().chain(of_classes()).collect()
        }
        Loss::MeanSquaredError | Loss::MeanAbsoluteError | Loss::Huber { .. } | Loss::Cosine => {
            vec![SumShape::Values { outputs }]
        }
        Loss::KlDivergence | Loss::ModelOutput => Vec::new(),
    }
}

impl Evaluation {
    /// Returns the sums that a client sends. Returns `None` if the labels allow no metric besides the loss, or there
    /// are too many outputs or no examples.
    pub fn sums(&self) -> Option<MetricSums> {
        let Some(sums) = &self.classification else {
            return self.regression.as_ref().and_then(RegressionSums::sums);
        };
        let ClassCounts { correct, predicted, actual, confusion } = &sums.classes;
        let classes = actual.len() as u64;
        let separate;
        let table = if has_confusion(classes) {
            confusion
        } else {
            separate = [correct.as_slice(), predicted, actual].concat();
            &separate
        };
        let is_counted = ClassParts::has_table(classes);
        let scores = sums.scores.as_ref();
        let parts = ClassParts {
            count: sums.ranks.count,
            at_rank: &sums.ranks.at_rank,
            table: if is_counted { table } else { &[] },
            positive: scores.map_or(&[], |scores| &scores.positive),
            negative: scores.map_or(&[], |scores| &scores.negative),
        };
        let counts = parts.to_counts();
        ClassParts::of(classes, &counts).is_some().then_some(MetricSums::Classes { classes, counts })
    }

    /// Restores an evaluation from sums, and from the metrics that came with them. Returns `None` if the numbers of
    /// counts or sums are wrong.
    ///
    /// The cross-entropy follows from the mean loss. Above 1,024 classes, the counts of single classes are empty; above
    /// 64 classes, the confusion matrix is empty.
    pub fn of_sums(loss: Loss, metrics: Metrics, sums: &MetricSums) -> Option<Self> {
        let (mut classification, mut regression) = (None, None);
        match sums {
            MetricSums::Classes { classes, counts } => {
                let parts = ClassParts::of(*classes, counts)?;
                let per_example = parts.count as f64 / metrics.example_count as f64;
                classification = Some(ClassificationSums {
                    ranks: RankCounts { at_rank: parts.at_rank.to_vec(), count: parts.count },
                    classes: ClassCounts::of_table(*classes, parts.table)?,
                    cross_entropy: (loss == Loss::SoftmaxCrossEntropy)
                        .then_some(metrics.loss_sum * per_example),
                    scores: (parts.positive.len() == SCORE_BUCKETS).then(|| ScoreHistogram {
                        positive: parts.positive.to_vec(),
                        negative: parts.negative.to_vec(),
                    }),
                });
            }
            MetricSums::Values { sums } => {
                regression = Some(RegressionSums::of_sums(metrics.example_count, sums))
            }
        }
        Some(Self { metrics, classification, regression })
    }
}

impl ClassCounts {
    /// Restores the counts from [`ClassParts::table`].
    fn of_table(classes: u64, table: &[u64]) -> Option<Self> {
        let classes = usize::try_from(classes).ok()?;
        if table.is_empty() {
            return Some(Self::default());
        }
        if !has_confusion(classes as u64) {
            let [correct, predicted, actual] =
                [0, 1, 2].map(|part| table[part * classes..][..classes].to_vec());
            return Some(Self { correct, predicted, actual, confusion: Vec::new() });
        }
        let sum = |counts: &mut dyn Iterator<Item = &u64>| {
            counts.fold(0, |sum: u64, count| sum.saturating_add(*count))
        };
        Some(Self {
            correct: table.iter().step_by(classes + 1).copied().collect(),
            predicted: (0..classes).map(|class| sum(&mut table[class..].iter().step_by(classes))).collect(),
            actual: table.chunks(classes).map(|row| sum(&mut row.iter())).collect(),
            confusion: table.to_vec(),
        })
    }
}

impl RegressionSums {
    fn sums(&self) -> Option<MetricSums> {
        let sums =
            [&self.squared_error[..], &self.absolute_error, &self.target, &self.squared_target].concat();
        let shape = SumShape::Values { outputs: self.target.len() as u64 };
        (shape.bytes_max() > 0).then_some(MetricSums::Values { sums })
    }

    fn of_sums(count: u64, sums: &[f64]) -> Self {
        let outputs = sums.len() / 4;
        let [squared_error, absolute_error, target, squared_target] =
            [0, 1, 2, 3].map(|part| sums[part * outputs..][..outputs].to_vec());
        Self { count, squared_error, absolute_error, target, squared_target }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{Metric, update::UpdateMetrics};

    use super::*;

    fn update_metrics(metrics: Metrics) -> UpdateMetrics {
        let Metrics { example_count, loss_sum, correct_count, step_count } = metrics;
        UpdateMetrics { example_count, loss_sum, correct_count, step_count }
    }

    /// Checks that sums have one of the shapes, pass the coordinator's checks, and give the same metrics.
    #[track_caller]
    fn survives(
        loss: Loss,
        output_shape: &[usize],
        form: LabelForm,
        outputs: &[f32],
        labels: &[f32],
    ) -> Evaluation {
        let evaluation = Evaluation::of_batch(loss, &Layout::new(output_shape, form), outputs, labels);
        let sums = evaluation.sums().expect("the labels allow sums");
        let shapes = sum_shapes(output_shape, loss);
        assert_eq!(sums.check(&shapes, &update_metrics(evaluation.metrics)), Ok(()));
        let mut bytes = Vec::new();
        sums.append_to(&mut bytes);
        let read = MetricSums::decode(&bytes).unwrap();
        let again = Evaluation::of_sums(loss, evaluation.metrics, &read).expect("the counts are whole");
        for metric in Metric::ALL {
            let value = again.value(metric);
            assert_eq!(value, evaluation.value(metric), "{metric}");
            // Every metric that has a value is one that a task may name.
            let is_allowed = metric == Metric::Loss || shapes.iter().any(|shape| shape.allows(metric, loss));
            assert!(is_allowed || value.is_none(), "{metric}");
        }
        assert_eq!(again.class_report(), evaluation.class_report());
        again
    }

    #[test]
    fn sums_give_the_metrics_of_the_examples() {
        let (classes, values) = (LabelForm::Classes, LabelForm::Values);
        let numbers: Vec<f32> = (0..600).map(|index| (index as f32 * 0.7).sin() * 4.0).collect();
        let labels = |count: usize, classes: usize| -> Vec<f32> {
            (0..count).map(|index| (index * 7 % 11 % classes) as f32).collect()
        };
        let softmax = Loss::SoftmaxCrossEntropy;
        let three = survives(softmax, &[3], classes, &numbers, &labels(200, 3));
        assert_eq!(three.values().iter().count(), 8, "all but the area under the curve");
        let two = survives(softmax, &[2], classes, &numbers, &labels(300, 2));
        assert!(two.value(Metric::RocAuc).is_some());
        survives(Loss::BinaryCrossEntropy, &[1], values, &numbers, &labels(600, 2));
        // The two shapes of two outputs: one label for each output, or one for both.
        survives(Loss::Hinge, &[2], values, &numbers, &labels(600, 2));
        survives(Loss::Hinge, &[2], classes, &numbers, &labels(300, 2));
        survives(Loss::Hinge, &[4, 3], classes, &numbers, &labels(200, 3));
        for loss in [Loss::MeanSquaredError, Loss::Huber { delta: 1.0 }] {
            let found = survives(loss, &[2], values, &numbers[..300], &numbers[300..]);
            assert_eq!(found.values().iter().count(), 4);
        }
    }

    #[test]
    fn many_classes_have_no_confusion_and_very_many_no_classes() {
        for (classes, metrics) in [(64, 8), (65, 8), (300, 8), (1024, 8), (1025, 4)] {
            let outputs: Vec<f32> = (0..classes * 20).map(|index| (index as f32 * 0.7).sin()).collect();
            let labels: Vec<f32> = (0..20).map(|index| (index * 37 % classes) as f32).collect();
            let layout = Layout::new(&[classes], LabelForm::Classes);
            let loss = Loss::SoftmaxCrossEntropy;
            let evaluation = Evaluation::of_batch(loss, &layout, &outputs, &labels);
            let sums = evaluation.sums().unwrap();
            assert_eq!(
                sums.check(&sum_shapes(&[classes], loss), &update_metrics(evaluation.metrics)),
                Ok(())
            );
            let again = Evaluation::of_sums(loss, evaluation.metrics, &sums).unwrap();
            assert_eq!(again.values().iter().count(), metrics, "{classes} classes");
            for (metric, value) in again.values().iter() {
                assert_eq!(Some(value), evaluation.value(metric), "{metric} of {classes} classes");
            }
        }
    }

    #[test]
    fn labels_without_metrics_send_nothing() {
        let layout = Layout::new(&[2], LabelForm::Values);
        let soft = Evaluation::of_batch(Loss::SoftmaxCrossEntropy, &layout, &[1.0, 2.0], &[0.5, 0.5]);
        assert_eq!(soft.sums(), None);
        assert_eq!(Evaluation::default().sums(), None);
        let wide = Layout::new(&[1025], LabelForm::Values);
        let numbers = [0.5; 1025];
        assert_eq!(Evaluation::of_batch(Loss::MeanSquaredError, &wide, &numbers, &numbers).sums(), None);
    }
}
