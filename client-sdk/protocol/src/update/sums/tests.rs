use proptest::prelude::*;

use super::*;
use crate::{Loss, Metric, update::UpdateMetrics};

fn bytes(sums: &MetricSums) -> Vec<u8> {
    let mut bytes = Vec::new();
    sums.append_to(&mut bytes);
    bytes
}

fn metrics(example_count: u64, correct_count: u64) -> UpdateMetrics {
    UpdateMetrics { example_count, correct_count, loss_sum: 1.0, step_count: 0 }
}

fn three_classes() -> MetricSums {
    let table = [4, 1, 0, 0, 2, 0, 1, 0, 2];
    let at_rank = [8, 1, 1, 0, 0, 0, 0, 0, 0, 0];
    let parts = ClassParts { count: 10, at_rank: &at_rank, table: &table, positive: &[], negative: &[] };
    MetricSums::Classes { classes: 3, counts: parts.to_counts() }
}

const THREE: [SumShape; 1] = [SumShape::Classes { classes: 3, positions: 1 }];

/// Returns the fault after the count at `place` has changed.
fn fault(place: usize, change: impl FnOnce(&mut u64)) -> SumFault {
    let MetricSums::Classes { classes, mut counts } = three_classes() else { unreachable!() };
    change(&mut counts[place]);
    MetricSums::Classes { classes, counts }.check(&THREE, &metrics(10, 8)).unwrap_err()
}

#[test]
fn zeros_take_few_bytes() {
    let sums = three_classes();
    let expected = [1, 3, 10, 8, 1, 1, 0, 6, 4, 1, 0, 1, 2, 0, 0, 1, 0, 0, 2];
    assert_eq!(bytes(&sums), expected);
    assert_eq!(MetricSums::decode(&expected), Ok(sums));
    let empty = MetricSums::Classes { classes: 2, counts: vec![0; 1 + RANKS + 4 + 2 * SCORE_BUCKETS] };
    assert_eq!(bytes(&empty).len(), 5);
}

#[test]
fn bytes_that_are_no_sums_are_refused() {
    let decode = |bytes: &[u8]| MetricSums::decode(bytes).unwrap_err();
    assert_eq!(decode(&[]), SumsError::TooShort);
    assert_eq!(decode(&[9]), SumsError::Form(9));
    assert_eq!(decode(&[1, 3, 10]), SumsError::TooShort);
    let whole = bytes(&three_classes());
    assert_eq!(decode(&[&whole[..], &[0]].concat()), SumsError::TooLong);
    // A run of zeros that is longer than the counts, and one that would allocate much memory.
    assert_eq!(decode(&[1, 3, 0, 20]), SumsError::TooLong);
    assert_eq!(decode(&[&[1, 3, 0][..], &[0xff; 9], &[1]].concat()), SumsError::TooLong);
    assert_eq!(decode(&[&[1][..], &[0xff; 9], &[2]].concat()), SumsError::Varint);
    assert_eq!(decode(&[&[1][..], &[0x80; 11]].concat()), SumsError::Varint);
    assert_eq!(decode(&[2, 0x81, 0x08]), SumsError::Outputs(1025));
    assert_eq!(decode(&[2, 1, 0]), SumsError::TooShort);
}

#[test]
fn counts_must_agree_with_the_header() {
    let sums = three_classes();
    assert_eq!(sums.check(&THREE, &metrics(10, 8)), Ok(()));
    assert!(matches!(sums.check(&THREE, &metrics(11, 8)), Err(SumFault::Predictions { .. })));
    assert!(matches!(sums.check(&THREE, &metrics(10, 7)), Err(SumFault::Correct { .. })));
    assert_eq!(sums.check(&[], &metrics(10, 8)), Err(SumFault::Shape));
    let others = [SumShape::Values { outputs: 3 }, SumShape::Classes { classes: 4, positions: 1 }];
    assert_eq!(sums.check(&others, &metrics(10, 8)), Err(SumFault::Shape));
    assert!(matches!(fault(0, |count| *count = u64::MAX), SumFault::Predictions { .. }));
    assert!(matches!(fault(1, |count| *count = u64::MAX), SumFault::Count { part: "ranks", .. }));
    assert!(matches!(fault(12, |count| *count += 1), SumFault::Count { part: "confusion matrix", .. }));
    assert!(matches!(fault(12, |count| *count = u64::MAX), SumFault::Count { .. }));
}

#[test]
fn sequences_and_many_classes_are_checked_too() {
    // Five examples with two positions: four examples are right, and at most one position of the other.
    let shapes = [SumShape::Classes { classes: 3, positions: 2 }];
    let sums = three_classes();
    assert_eq!(sums.check(&shapes, &metrics(5, 4)), Ok(()));
    assert_eq!(sums.check(&shapes, &metrics(5, 3)), Ok(()));
    assert!(matches!(sums.check(&shapes, &metrics(5, 2)), Err(SumFault::Correct { .. })));
    assert!(matches!(sums.check(&shapes, &metrics(5, 5)), Err(SumFault::Correct { .. })));
    let table = |correct: u64, predicted: [u64; 2]| {
        let mut table = vec![0; 300];
        (table[7], table[107], table[108], table[207]) = (correct, predicted[0], predicted[1], 9);
        let at_rank = [0; RANKS];
        let parts = ClassParts { count: 9, at_rank: &at_rank, table: &table, positive: &[], negative: &[] };
        let sums = MetricSums::Classes { classes: 100, counts: parts.to_counts() };
        sums.check(&[SumShape::Classes { classes: 100, positions: 1 }], &metrics(9, correct))
    };
    assert_eq!(table(5, [5, 4]), Ok(()));
    assert_eq!(table(6, [5, 4]), Err(SumFault::Class { class: 7 }));
    assert!(matches!(table(5, [5, 5]), Err(SumFault::Count { part: "predictions", .. })));
}

#[test]
fn scores_must_agree_with_the_labels() {
    let of = |positive: u64, bucket: usize| {
        let mut scores = vec![0; 2 * SCORE_BUCKETS];
        (scores[bucket], scores[SCORE_BUCKETS]) = (positive, 3);
        let (positive, negative) = scores.split_at(SCORE_BUCKETS);
        let at_rank = [0; RANKS];
        let parts = ClassParts { count: 5, at_rank: &at_rank, table: &[2, 1, 0, 2], positive, negative };
        let sums = MetricSums::Classes { classes: 2, counts: parts.to_counts() };
        sums.check(&[SumShape::Classes { classes: 2, positions: 1 }], &metrics(5, 4))
    };
    assert_eq!(of(2, 1000), Ok(()));
    assert!(matches!(of(1, 1000), Err(SumFault::Count { part: "scores of class 1", .. })));
    assert!(matches!(of(2, SCORE_BUCKETS + 1), Err(SumFault::Count { .. })));
}

#[test]
fn sums_of_values_must_be_possible() {
    let shapes = [SumShape::Values { outputs: 1 }];
    let check = |sums: [f64; 4]| MetricSums::Values { sums: sums.into() }.check(&shapes, &metrics(4, 0));
    assert_eq!(check([4.0, 4.0, -8.0, 16.0]), Ok(()));
    assert_eq!(check([0.0; 4]), Ok(()));
    // NaN, infinity, negative squares, too large for float32, and sums beyond those of their squares.
    for (index, value) in [
        (0, f64::NAN),
        (0, -1.0),
        (0, f64::INFINITY),
        (0, 1e80),
        (1, 4.1),
        (1, f64::NAN),
        (2, 8.1),
        (2, f64::NEG_INFINITY),
        (3, 1e79),
        (3, f64::NAN),
    ] {
        let mut sums = [4.0, 4.0, -8.0, 16.0];
        sums[index] = value;
        let found = check(sums);
        assert!(matches!(found, Err(SumFault::Value { .. })), "{index} {value}: {found:?}");
    }
    let two = MetricSums::Values { sums: vec![0.0; 8] };
    assert_eq!(two.check(&shapes, &metrics(4, 0)), Err(SumFault::Shape));
    let endless = SumShape::Values { outputs: u64::MAX / 2 + 1 };
    assert_eq!((endless.bytes_max(), endless.allows(Metric::R2, Loss::MeanSquaredError)), (0, false));
}

#[test]
fn shapes_say_which_metrics_they_allow() {
    let allowed = |shape: SumShape, loss: Loss| {
        let metrics = Metric::ALL.into_iter().filter(|metric| shape.allows(*metric, loss));
        metrics.map(Metric::name).collect::<Vec<_>>().join(" ")
    };
    let classes = |classes| SumShape::Classes { classes, positions: 1 };
    let of_classes = "accuracy loss top_5_accuracy precision_macro recall_macro f1_macro f1_weighted";
    assert_eq!(allowed(classes(2), Loss::Hinge), format!("{of_classes} roc_auc"));
    assert_eq!(allowed(classes(1024), Loss::SoftmaxCrossEntropy), format!("{of_classes} perplexity"));
    assert_eq!(
        allowed(classes(50_000), Loss::SoftmaxCrossEntropy),
        "accuracy loss top_5_accuracy perplexity"
    );
    assert_eq!(allowed(SumShape::Values { outputs: 3 }, Loss::MeanSquaredError), "loss rmse mae r2");
}

proptest! {
    #[test]
    fn sums_survive_their_bytes(classes in 1u64..80, seed in prop::collection::vec(0u64..1 << 60, 1..50)) {
        let counts = (0..count_len(classes)).map(|index| seed[index % seed.len()] >> (index % 61)).collect();
        let sums = MetricSums::Classes { classes, counts };
        let bytes = bytes(&sums);
        let bytes_max = SumShape::Classes { classes, positions: 1 }.bytes_max();
        prop_assert!(bytes.len() as u64 <= bytes_max);
        prop_assert_eq!(MetricSums::decode(&bytes), Ok(sums));
        for cut in [0, bytes.len() / 2, bytes.len() - 1] {
            prop_assert!(MetricSums::decode(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_read_and_checked_without_a_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..600), examples: u64, form in 1u8..3, size in 0u8..130,
    ) {
        if let [first, second, ..] = &mut bytes[..] {
            (*first, *second) = (form, size);
        }
        if let Ok(sums) = MetricSums::decode(&bytes) {
            for classes in 0..130 {
                let shapes = [
                    SumShape::Classes { classes, positions: u64::MAX },
                    SumShape::Values { outputs: classes },
                ];
                let _ = sums.check(&shapes, &metrics(examples, examples));
            }
        }
    }
}
