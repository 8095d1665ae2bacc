//! Compares a step over several batches with a step over all their examples, and with arithmetic in double precision.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, GradientClipping, ImportLimits, Inspection, Labels, LocalOptimizer, Loss, Model, ParameterKind,
    TrainError, Trainer, TrainingOutcome, TrainingPlan, onnx,
};
use proptest::{prelude::*, test_runner::RngSeed};

/// The largest difference between two ways of adding the same gradients, relative to the norm of the delta.
const TOLERANCE: f64 = 1e-5;
const FITS: &str = "there is a weight for each";

fn finish(model: &Model, plan: TrainingPlan, examples: &Examples) -> TrainingOutcome {
    let trainer = Trainer::new(model, &model.initial_weights(), plan, examples, 5);
    let mut trainer = trainer.expect("plan and examples fit");
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// Returns the norm of the difference between two deltas, relative to the norm of the expected one.
fn distance(found: &TrainingOutcome, expected: &TrainingOutcome) -> f64 {
    let pairs = found.delta.iter().zip(&expected.delta);
    let difference = norm(pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)));
    difference / norm(expected.delta.iter().map(|value| f64::from(*value)))
}

/// Returns this many of the digit examples, with or without weights.
fn some_digits(count: usize, is_weighted: bool) -> Examples {
    let (training, _) = digits();
    let rows: Vec<usize> = (0..count).collect();
    let examples = training.subset(&rows).expect("the indices are those of rows");
    match is_weighted {
        true => examples.with_weights((0..count).map(|row| (row % 4) as f32 * 0.75).collect()).expect(FITS),
        false => examples,
    }
}

/// A fixed seed: where a sum before a ReLU is nearly 0, two ways of adding the same numbers can decide differently, which moves
/// the delta by more than any rounding.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_accumulated_step_is_that_of_the_large_batch(
        batch_size in 1u32..20,
        accumulation_steps in 1u32..7,
        count in 1usize..70,
        is_weighted: bool,
        clipping in prop_oneof![
            Just(None),
            Just(Some(GradientClipping::Norm(0.5))),
            Just(Some(GradientClipping::Value(0.02))),
        ],
    ) {
        let (model, examples) = (model(), some_digits(count, is_weighted));
        let large = TrainingPlan {
            batch_size: batch_size * accumulation_steps,
            gradient_clipping: clipping,
            proximal_term: 0.1,
            ..plan(2)
        };
        let small = TrainingPlan { batch_size, accumulation_steps, ..large.clone() };
        let (found, expected) = (finish(&model, small, &examples), finish(&model, large, &examples));
        prop_assert!(distance(&found, &expected) < TOLERANCE, "{}", distance(&found, &expected));
        prop_assert_eq!(found.metrics.step_count, expected.metrics.step_count);
        prop_assert_eq!(found.metrics.example_count, expected.metrics.example_count);
        let correct = found.metrics.correct_count.abs_diff(expected.metrics.correct_count);
        prop_assert!(correct <= 1, "rounding decides between two classes once at most, not {correct} times");
        let loss = (found.metrics.loss_sum - expected.metrics.loss_sum).abs();
        prop_assert!(loss <= 1e-5 * expected.metrics.loss_sum, "the losses differ by {loss}");
    }

    #[test]
    fn per_example_clipping_does_not_see_how_a_step_is_divided(
        batch_size in 1u32..9,
        accumulation_steps in 2u32..5,
        is_weighted: bool,
    ) {
        let (model, examples) = (model(), some_digits(30, is_weighted));
        let large = TrainingPlan {
            batch_size: batch_size * accumulation_steps,
            gradient_clipping: Some(GradientClipping::PerExampleNorm(0.7)),
            ..plan(1)
        };
        let small = TrainingPlan { batch_size, accumulation_steps, ..large.clone() };
        prop_assert_eq!(finish(&model, small, &examples), finish(&model, large, &examples));
    }
}

/// Returns the model `output = input * weights` with one weight, and targets from −3 to 3.
fn line(count: usize, weights: Option<&[f32]>) -> (Model, Examples) {
    let model = Model::from_onnx(&onnx::build::single_tensor(1), &ImportLimits::default());
    let features: Vec<f32> = (0..count).map(|row| row as f32 * 0.25 - 1.0).collect();
    let targets = features.iter().map(|x| (7.0 * x).sin() * 3.0).collect();
    let examples = Examples::new(features, vec![1], Labels::Targets(targets, 1)).expect("the lengths fit");
    let examples =
        weights.map_or(examples.clone(), |weights| examples.with_weights(weights.to_vec()).expect(FITS));
    (model.expect("built models import"), examples)
}

/// Returns w after one step of gradient descent on Σ sᵢ (w xᵢ − tᵢ)², in double precision.
fn full_step(start: f64, rate: f64, examples: &Examples) -> f64 {
    let Labels::Targets(targets, _) = examples.labels() else { panic!("they are targets") };
    let weights = |row: usize| examples.weights().map_or(1.0, |weights| f64::from(weights[row]));
    let sum: f64 = (0..examples.len()).map(weights).sum();
    let slope = |row: usize| {
        let (x, t) = (f64::from(examples.features()[row]), f64::from(targets[row]));
        weights(row) / sum * 2.0 * (start * x - t) * x
    };
    start - rate * (0..examples.len()).map(slope).sum::<f64>()
}

#[test]
fn all_local_examples_in_one_step_are_fed_sgd() {
    let weights: Vec<f32> = (0..11).map(|row| [1.0, 0.0, 2.5][row % 3]).collect();
    for weights in [None, Some(&weights[..])] {
        let (model, examples) = line(11, weights);
        let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.125));
        let expected = full_step(0.5, 0.125, &examples);
        // All examples at once; in micro-batches of 4, 4 and 3; one by one.
        for (batch_size, accumulation_steps) in [(1_000_000, 1), (u32::MAX, 1), (4, 1_000_000), (1, 11)] {
            let plan = TrainingPlan { batch_size, accumulation_steps, ..plan.clone() };
            let mut trainer = Trainer::new(&model, &[0.5], plan, &examples, 0).unwrap();
            let progress = trainer.step().unwrap();
            assert!(progress.finished && progress.steps_total == 1);
            let found = f64::from(trainer.weights()[0]);
            assert!((found - expected).abs() < 1e-6, "{batch_size}: {found}, not {expected}");
            assert_eq!(trainer.finish().metrics.example_count, 11);
        }
    }
}

#[test]
fn two_accumulated_steps_by_hand() {
    // The gradient of each example is 2 (w − 2) x²; the targets are 2 x. With x = 1 and 2 their mean is 5 (w − 2).
    let model = line(1, None).0;
    let examples = Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![2.0, 4.0], 1)).unwrap();
    let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.125));
    let plan = TrainingPlan { epochs: 2, batch_size: 1, accumulation_steps: 2, ..plan };
    let two_steps = |plan: &TrainingPlan| {
        let mut trainer = Trainer::new(&model, &[1.0], plan.clone(), &examples, 0).unwrap();
        [0, 1].map(|_| {
            trainer.step().unwrap();
            trainer.weights()[0]
        })
    };
    assert_eq!(two_steps(&plan), [1.625, 1.859375]);
    // Clipping applies to the mean, −5, and not to the gradient of each batch.
    let clipped = TrainingPlan { gradient_clipping: Some(GradientClipping::Norm(2.0)), ..plan.clone() };
    assert_eq!(two_steps(&clipped), [1.25, 1.5]);
    let clipped = TrainingPlan { gradient_clipping: Some(GradientClipping::Norm(4.0)), ..plan.clone() };
    assert_eq!(two_steps(&clipped)[0], 1.5, "single examples of −2 and −8 would give −3, and 1.375");
    // The proximal term is added once per step, not once per batch: at w = 1.625 it is 0.625.
    let proximal = TrainingPlan { proximal_term: 1.0, ..plan };
    assert_eq!(two_steps(&proximal), [1.625, 1.625 + 0.125 * (1.875 - 0.625)]);
}

#[test]
fn a_step_of_one_batch_is_not_accumulated() {
    let (model, examples) = (model(), some_digits(20, false));
    let plain = TrainingPlan { batch_size: 20, ..plan(3) };
    let accumulating = TrainingPlan { accumulation_steps: 8, ..plain.clone() };
    assert_eq!(finish(&model, accumulating, &examples), finish(&model, plain, &examples));
}

#[test]
fn a_checkpoint_lies_between_steps() {
    let (model, examples) = (model(), some_digits(50, true));
    let plan = TrainingPlan { batch_size: 8, accumulation_steps: 3, steps_max: Some(5), ..plan(3) };
    let expected = finish(&model, plan.clone(), &examples);
    // An epoch has steps of 24, 24 and 2 examples.
    assert_eq!((expected.metrics.step_count, expected.metrics.example_count), (5, 98));
    let start = model.initial_weights();
    let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, 5).unwrap();
    while !trainer.step().unwrap().finished {
        let checkpoint = trainer.checkpoint();
        trainer = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
    }
    assert_eq!(trainer.finish(), expected);
    let other = TrainingPlan { accumulation_steps: 4, ..plan.clone() };
    let checkpoint = Trainer::new(&model, &start, plan, &examples, 5).unwrap().checkpoint();
    let refused = Trainer::resume(&model, &start, other, &examples, &checkpoint).err();
    assert!(matches!(refused, Some(TrainError::Checkpoint(_))), "{refused:?}");
}

#[test]
fn a_step_on_chosen_examples_is_accumulated_too() {
    let (model, examples) = (model(), some_digits(40, true));
    let rows: Vec<usize> = (0..40).rev().chain([3, 3, 7]).collect();
    let step = |accumulation_steps| {
        let plan = TrainingPlan { batch_size: 8, accumulation_steps, ..plan(1) };
        let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, 5).unwrap();
        trainer.step_on(&rows).unwrap();
        trainer.finish()
    };
    let (found, expected) = (step(2), step(1));
    assert_eq!(found.metrics.example_count, 43);
    assert!(distance(&found, &expected) < TOLERANCE, "{}", distance(&found, &expected));
}

/// Batch normalisation normalises each micro-batch separately. A step of n micro-batches
/// therefore gives the same running statistics as n small steps that change no weight.
#[test]
fn running_statistics_move_with_each_micro_batch() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/residual_cnn_batch_norm.onnx");
    let model = Model::from_onnx(&std::fs::read(path).unwrap(), &ImportLimits::default()).unwrap();
    let examples = some_digits(24, false);
    let optimizer = LocalOptimizer::sgd(1e-30);
    let small = TrainingPlan { batch_size: 8, optimizer, ..plan(1) };
    let accumulating = TrainingPlan { accumulation_steps: 3, ..small.clone() };
    let large = TrainingPlan { batch_size: 24, ..small.clone() };
    let statistics = |plan: TrainingPlan| {
        let (outcome, mut start, mut found) = (finish(&model, plan, &examples), 0, Vec::new());
        for spec in model.parameters() {
            let range = start..start + spec.element_count();
            start = range.end;
            if spec.kind == ParameterKind::Statistic {
                found.extend_from_slice(&outcome.delta[range]);
            }
        }
        found
    };
    let [of_step, of_small_steps, of_large] = [accumulating, small, large].map(statistics);
    assert!(!of_step.is_empty() && of_step.iter().any(|change| *change != 0.0));
    let apart = |others: &[f32]| of_step.iter().zip(others).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart(&of_small_steps) < 1e-6, "{}", apart(&of_small_steps));
    assert!(apart(&of_large) > 1e-3, "one large batch moves them once");
}

#[test]
fn the_sum_is_known_before_it_is_taken() {
    let model = Model::from_onnx(&onnx::build::mlp(&[64, 30, 10], 1), &ImportLimits::default()).unwrap();
    let examples = some_digits(60, false);
    let plain = TrainingPlan { batch_size: 8, ..plan(1) };
    let accumulating = TrainingPlan { accumulation_steps: 3, ..plain.clone() };
    let start = model.initial_weights();
    let new = |plan: &TrainingPlan| Trainer::new(&model, &start, plan.clone(), &examples, 5).unwrap();
    let held = new(&plain).memory_bytes();
    let mut trainer = new(&accumulating);
    assert_eq!(trainer.memory_bytes(), held + 4 * model.parameter_count());
    assert_eq!(Inspection::new(&model, &accumulating).unwrap().memory.total(), trainer.memory_bytes());
    let before = trainer.memory();
    trainer.step().unwrap();
    assert_eq!(trainer.memory(), before);
    let limited = TrainingPlan { memory_bytes_max: Some(held as u64), ..accumulating };
    assert!(matches!(
        Trainer::new(&model, &start, limited, &examples, 5).err(),
        Some(TrainError::Memory { batch_size: 8, .. })
    ));
}

#[test]
fn an_endless_batch_needs_the_memory_of_the_examples() {
    let (model, examples) = (model(), some_digits(20, false));
    let of = |batch_size| TrainingPlan { batch_size, ..plan(1) };
    let start = model.initial_weights();
    let held = |batch_size| Trainer::new(&model, &start, of(batch_size), &examples, 5).unwrap().memory();
    assert_eq!(held(1_000_000), held(20));
    let inspected = |batch_size| Inspection::for_examples(&model, &of(batch_size), 20).unwrap();
    assert_eq!(inspected(1_000_000).memory, inspected(20).memory);
    assert_eq!(inspected(1_000_000).batch_size, 20);
    assert_eq!(inspected(20).memory.total(), held(20).total());
}
