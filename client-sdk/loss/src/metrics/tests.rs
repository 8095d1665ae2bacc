use folkmoot_protocol::{Loss, Metric};
use proptest::prelude::*;

use super::*;
use crate::loss::{LabelForm, Layout};

const SOFTMAX: Loss = Loss::SoftmaxCrossEntropy;

#[test]
fn classes_are_scored() {
    let layout = Layout::new(&[2], LabelForm::Classes);
    let metrics = score(SOFTMAX, &layout, &[0.0, 0.0, 1000.0, -1000.0], &[0.0, 1.0]);
    assert_eq!((metrics.example_count, metrics.correct_count), (2, 1));
    assert!((metrics.loss_sum - (2f64.ln() + 2000.0)).abs() < 1e-9);
}

#[test]
fn targets_are_scored() {
    let layout = Layout::new(&[2], LabelForm::Values);
    let metrics = score(Loss::MeanSquaredError, &layout, &[1.0, 4.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!((metrics.example_count, metrics.loss_sum, metrics.correct_count), (2, 2.0, 0));
}

#[test]
fn of_a_sequence_every_position_must_be_right() {
    let layout = Layout::new(&[2, 2], LabelForm::Classes);
    let outputs = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    assert_eq!(score(SOFTMAX, &layout, &outputs, &[0.0, 1.0, 0.0, 0.0]).correct_count, 1);
    let evaluation = Evaluation::of_batch(SOFTMAX, &layout, &outputs, &[0.0, 1.0, 0.0, 0.0]);
    let sums = evaluation.classification.unwrap();
    assert_eq!(sums.ranks.accuracy(), Some(0.75));
    assert_eq!(sums.ranks.count, 4);
}

#[test]
fn a_score_above_0_is_class_1() {
    let layout = Layout::new(&[1], LabelForm::Values);
    assert_eq!(score(Loss::Hinge, &layout, &[-0.5, 0.5, 0.0, 2.0], &[0.0, 1.0, 0.0, 0.0]).correct_count, 3);
}

#[test]
fn classification_by_hand() {
    let layout = Layout::new(&[3], LabelForm::Classes);
    // Predictions 0, 1, 1, 2 for labels 0, 1, 2, 0; for the last one the correct class ranks second.
    let outputs = [3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 1.0, 3.0, 0.0, 2.0, 0.0, 3.0];
    let evaluation = Evaluation::of_batch(SOFTMAX, &layout, &outputs, &[0.0, 1.0, 2.0, 0.0]);
    let sums = evaluation.classification.unwrap();
    assert_eq!([1, 2, 3, 11].map(|k| sums.ranks.top_k(k)), [Some(0.5), Some(0.75), Some(1.0), None]);
    let counts = &sums.classes;
    assert_eq!([0, 1, 2].map(|class| counts.precision(class)), [Some(1.0), Some(0.5), Some(0.0)]);
    assert_eq!([0, 1, 2].map(|class| counts.recall(class)), [Some(0.5), Some(1.0), Some(0.0)]);
    assert_eq!(
        [0, 1, 2, 3].map(|class| counts.f1(class)),
        [Some(2.0 / 3.0), Some(2.0 / 3.0), Some(0.0), None]
    );
    assert_eq!(counts.macro_f1(), Some(4.0 / 9.0));
    assert_eq!((counts.macro_precision(), counts.macro_recall()), (Some(0.5), Some(0.5)));
    assert_eq!(counts.micro_f1(), Some(0.5));
    assert_eq!(
        (counts.confused(2, 1), counts.confused(0, 0), counts.confused(0, 3)),
        (Some(1), Some(1), None)
    );
    // Class 0 has two of the four labels.
    assert_eq!(counts.weighted_f1(), Some((2.0 * (2.0 / 3.0) + 2.0 / 3.0) / 4.0));
    let mean = evaluation.metrics.mean_loss().unwrap();
    assert!((sums.perplexity().unwrap() - mean.exp()).abs() < 1e-12);
    assert_eq!(sums.area_under_curve(), None);
}

#[test]
fn the_area_under_the_curve_by_hand() {
    let layout = Layout::new(&[1], LabelForm::Values);
    // Three of the four pairs are in order.
    let evaluation = Evaluation::of_batch(
        Loss::BinaryCrossEntropy,
        &layout,
        &[2.0, -1.0, 1.0, -3.0],
        &[1.0, 1.0, 0.0, 0.0],
    );
    let scores = evaluation.classification.unwrap().scores.unwrap();
    assert_eq!((scores.area_under_curve(), scores.area_error()), (Some(0.75), Some(0.0)));
    let evaluation = Evaluation::of_batch(Loss::Hinge, &layout, &[99.0, 99.0], &[1.0, 0.0]);
    let scores = evaluation.classification.unwrap().scores.unwrap();
    assert_eq!((scores.area_under_curve(), scores.area_error()), (Some(0.5), Some(0.5)));
    assert_eq!(ScoreHistogram::default().area_under_curve(), None);
}

#[test]
fn regression_by_hand() {
    let layout = Layout::new(&[1], LabelForm::Values);
    let evaluation =
        Evaluation::of_batch(Loss::MeanAbsoluteError, &layout, &[1.0, 2.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0]);
    let sums = evaluation.regression.unwrap();
    assert_eq!((sums.mean_squared_error(), sums.mean_absolute_error()), (Some(0.5), Some(0.5)));
    // Σ (t − 2.5)² is 5.
    assert_eq!(sums.r_squared(), Some(0.6));
    assert_eq!(RegressionSums::default().r_squared(), None);
}

#[test]
fn every_metric_that_is_allowed_has_a_value() {
    let of = |loss, form, outputs: &[f32], labels: &[f32]| {
        Evaluation::of_batch(loss, &Layout::new(&[2], form), outputs, labels)
    };
    let classes = of(SOFTMAX, LabelForm::Classes, &[1.0, 0.0, 0.0, 1.0], &[0.0, 1.0]);
    let numbers = of(Loss::MeanSquaredError, LabelForm::Values, &[1.0, 2.0, 3.0, 5.0], &[1.0, 2.0, 3.0, 4.0]);
    for evaluation in [&classes, &numbers] {
        for metric in Metric::ALL {
            assert_eq!(evaluation.allows(metric), evaluation.value(metric).is_some(), "{metric}");
        }
    }
    assert_eq!(classes.values().iter().count(), 9);
    assert_eq!(classes.values().get(Metric::RocAuc), Some(1.0));
    let found: Vec<Metric> = numbers.values().iter().map(|(metric, _)| metric).collect();
    assert_eq!(found, [Metric::Loss, Metric::Rmse, Metric::Mae, Metric::R2]);
    assert_eq!((numbers.value(Metric::Rmse), numbers.value(Metric::Mae)), (Some(0.5), Some(0.25)));
    let report = classes.class_report().expect("the labels are classes");
    assert_eq!((report.classes.len(), report.confusion), (2, vec![vec![1, 0], vec![0, 1]]));
    assert_eq!(numbers.class_report(), None);
}

#[test]
fn an_evaluation_survives_its_json() {
    // The loss is ½. JSON preserves all digits of the sums.
    let layout = Layout::new(&[1], LabelForm::Values);
    let mut evaluation = Evaluation::of_batch(Loss::Hinge, &layout, &[0.5, -2.0], &[1.0, 0.0]);
    evaluation += &Evaluation::of_batch(Loss::MeanSquaredError, &layout, &[0.5], &[1.0]);
    let json = serde_json::to_string(&evaluation).unwrap();
    assert!(serde_json::from_str::<Evaluation>(&json).unwrap() == evaluation, "{json}");
    assert!(serde_json::from_str::<Evaluation>(&json.replace("at_rank", "at_ranks")).is_err());
}

/// Computes the exact area by comparing every pair.
fn exact_area(scores: &[f32], labels: &[f32]) -> Option<f64> {
    let of =
        |class: f32| scores.iter().zip(labels).filter(move |(_, label)| **label == class).map(|(s, _)| *s);
    let pairs: Vec<f64> = of(1.0)
        .flat_map(|p| {
            of(0.0).map(move |n| {
                if p > n {
                    1.0
                } else if p == n {
                    0.5
                } else {
                    0.0
                }
            })
        })
        .collect();
    (!pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64)
}

proptest! {
    /// Outputs are multiples of 1/8, so that even sums of errors are exact. Losses of a softmax are not exact.
    #[test]
    fn parts_add_up_to_the_whole(
        numbers in prop::collection::vec((-40i8..40, -40i8..40, 0u8..3), 3..30),
        cut in 0usize..30,
        kind in 0usize..3,
    ) {
        let (loss, layout) = [
            (SOFTMAX, Layout::new(&[3], LabelForm::Classes)),
            (Loss::Hinge, Layout::new(&[3], LabelForm::Values)),
            (Loss::MeanAbsoluteError, Layout::new(&[3], LabelForm::Values)),
        ][kind].clone();
        let rows = numbers.len() / 3;
        let cut = cut.min(rows);
        let outputs: Vec<f32> = numbers.iter().take(rows * 3).map(|(x, _, _)| f32::from(*x) / 8.0).collect();
        let labels: Vec<f32> = match kind {
            0 => numbers.iter().take(rows).map(|(_, _, class)| f32::from(*class)).collect(),
            1 => numbers.iter().take(rows * 3).map(|(_, t, _)| f32::from(*t > 0)).collect(),
            _ => numbers.iter().take(rows * 3).map(|(_, t, _)| f32::from(*t) / 8.0).collect(),
        };
        let width = layout.labels_per_example();
        let whole = Evaluation::of_batch(loss, &layout, &outputs, &labels);
        let mut sum = Evaluation::default();
        sum += &Evaluation::of_batch(loss, &layout, &outputs[..cut * 3], &labels[..cut * width]);
        sum += &Evaluation::of_batch(loss, &layout, &outputs[cut * 3..], &labels[cut * width..]);
        // Sums of losses are rounded, so they are compared separately.
        prop_assert!((sum.metrics.loss_sum - whole.metrics.loss_sum).abs() <= 1e-12 * whole.metrics.loss_sum);
        sum.metrics.loss_sum = whole.metrics.loss_sum;
        if let (Some(a), Some(b)) = (&mut sum.classification, &whole.classification) {
            prop_assert!((a.cross_entropy.unwrap_or(0.0) - b.cross_entropy.unwrap_or(0.0)).abs() < 1e-9);
            a.cross_entropy = b.cross_entropy;
        }
        prop_assert_eq!(sum, whole);
    }

    #[test]
    fn the_area_is_within_its_error(
        scores in prop::collection::vec(-20.0f32..20.0, 2..40),
        labels in prop::collection::vec(0u8..2, 40),
    ) {
        let layout = Layout::new(&[1], LabelForm::Values);
        let labels: Vec<f32> = labels.iter().take(scores.len()).map(|label| f32::from(*label)).collect();
        let evaluation = Evaluation::of_batch(Loss::Hinge, &layout, &scores, &labels);
        let histogram = evaluation.classification.unwrap().scores.unwrap();
        match (histogram.area_under_curve(), histogram.area_error(), exact_area(&scores, &labels)) {
            (Some(area), Some(error), Some(exact)) => prop_assert!((area - exact).abs() <= error + 1e-12),
            (area, _, exact) => prop_assert_eq!(area, exact),
        }
    }
}
