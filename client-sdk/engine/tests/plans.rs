//! Plan options beyond loss and optimizer: freezing, clipping, schedules, statistics, memory.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, FitError, GradientClipping, ImportLimits, Labels, LearningRateSchedule, LocalOptimizer, Loss,
    Model, NamePattern, ParameterKind, RunningStatistics, TrainError, TrainedPart, Trainer, TrainingPlan,
    onnx,
};

/// Returns the model `output = input * weights` with one weight. Its loss is the mean of (w − 2)²·x².
fn line() -> (Model, Examples) {
    let model = Model::from_onnx(&onnx::build::single_tensor(1), &ImportLimits::default());
    let examples = Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![2.0, 4.0], 1));
    (model.expect("built models import"), examples.expect("the lengths fit"))
}

fn line_plan() -> TrainingPlan {
    let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.125));
    TrainingPlan { epochs: 2, batch_size: 2, ..plan }
}

/// Returns the weight after each of two steps, starting from 1.
fn two_steps(plan: TrainingPlan, examples: &Examples) -> [f32; 2] {
    let (model, _) = line();
    let mut trainer = Trainer::new(&model, &[1.0], plan, examples, 0).expect("plan and examples fit");
    [0, 1].map(|_| {
        trainer.step().expect("this training does not diverge");
        trainer.weights()[0]
    })
}

fn batch_norm_model() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/residual_cnn_batch_norm.onnx");
    let bytes = std::fs::read(path).expect("the example is in the repository");
    Model::from_onnx(&bytes, &ImportLimits::default()).expect("the example is a valid model")
}

/// Returns the ranges of the parameters whose names satisfy `wanted`.
fn ranges(model: &Model, wanted: impl Fn(&str) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for spec in model.parameters() {
        let range = start..start + spec.element_count();
        start = range.end;
        if wanted(&spec.name) {
            found.push(range);
        }
    }
    found
}

fn finish(mut trainer: Trainer) -> Vec<f32> {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish().delta
}

#[test]
fn frozen_tensors_keep_their_values_and_the_others_do_not() {
    let (model, (examples, _)) = (model(), digits());
    let frozen = vec![NamePattern::from("layer_1.*")];
    let plan = TrainingPlan { frozen, ..plan(1) };
    let start = model.initial_weights();
    let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, 1).unwrap();
    while !trainer.step().expect("this training does not diverge").finished {}
    let outcome = trainer.finish();
    let bits = |weights: &[f32]| weights.iter().map(|weight| weight.to_bits()).collect::<Vec<_>>();
    for range in ranges(&model, |name| name.starts_with("layer_1")) {
        assert_eq!(bits(&outcome.weights[range.clone()]), bits(&start[range]));
    }
    let part = TrainedPart::of(&model, &plan).unwrap();
    assert!(part.tensors().all(|tensor| tensor.name.starts_with("layer_2")));
    let (after, before) = (part.pick(&outcome.weights).unwrap(), part.pick(&start).unwrap());
    let change: Vec<f32> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(bits(&outcome.delta), bits(&change), "the delta is that of the part, and of nothing else");
    assert!(change.iter().any(|change| *change != 0.0));
}

#[test]
fn a_frozen_pattern_must_match_and_something_must_be_left() {
    let (model, (examples, _)) = (model(), digits());
    let refusal = |pattern: &str| {
        let plan = TrainingPlan { frozen: vec![NamePattern::from(pattern)], ..plan(1) };
        match Trainer::new(&model, &model.initial_weights(), plan, &examples, 1) {
            Err(TrainError::Fit(error)) => error,
            _ => panic!("`{pattern}` is not refused"),
        }
    };
    let error = refusal("layer_1.wieght");
    assert!(matches!(&error, FitError::Pattern { nearest, .. } if nearest == "layer_1.weight"), "{error}");
    assert_eq!(refusal("*"), FitError::NothingToTrain);
}

#[test]
fn clipping_by_hand() {
    let (_, examples) = line();
    // The gradient is 5 (w − 2): −5, clipped to −2; then −3.75, again clipped to −2.
    let clipped = |clipping| TrainingPlan { gradient_clipping: Some(clipping), ..line_plan() };
    assert_eq!(two_steps(clipped(GradientClipping::Norm(2.0)), &examples), [1.25, 1.5]);
    assert_eq!(two_steps(clipped(GradientClipping::Value(2.0)), &examples), [1.25, 1.5]);
    assert_eq!(two_steps(clipped(GradientClipping::Norm(8.0)), &examples), [1.625, 1.859375]);
    // The per-example gradients are 2 (w − 2) x²: −2 and −8, clipped to −2 and −4, with mean −3. Then −1.25 and −5,
    // clipped to −1.25 and −4.
    let per_example = clipped(GradientClipping::PerExampleNorm(4.0));
    assert_eq!(two_steps(per_example, &examples), [1.375, 1.375 + 0.125 * 2.625]);
}

#[test]
fn clipping_comes_before_the_proximal_term_and_the_correction() {
    let (model, examples) = line();
    let plan = TrainingPlan {
        gradient_clipping: Some(GradientClipping::Norm(2.0)),
        proximal_term: 1.0,
        ..line_plan()
    };
    // −2, then −2 + (1.25 − 1).
    assert_eq!(two_steps(plan.clone(), &examples), [1.25, 1.46875]);
    let mut trainer = Trainer::new(&model, &[1.0], plan, &examples, 0).unwrap();
    assert!(matches!(trainer.set_gradient_correction(vec![]), Err(FitError::WeightCount { .. })));
    trainer.set_gradient_correction(vec![-2.0]).unwrap();
    trainer.step().unwrap();
    assert_eq!(trainer.weights(), [1.5]);
}

#[test]
fn per_example_clipping_that_never_clips_is_the_mean() {
    let (model, (examples, _)) = (model(), digits());
    let start = model.initial_weights();
    let clipped = TrainingPlan { gradient_clipping: Some(GradientClipping::PerExampleNorm(1e6)), ..plan(1) };
    let expected = finish(Trainer::new(&model, &start, plan(1), &examples, 1).unwrap());
    let mut trainer = Trainer::new(&model, &start, clipped, &examples, 1).unwrap();
    while !trainer.step().unwrap().finished {}
    let outcome = trainer.finish();
    let largest = expected.iter().zip(&outcome.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-4, "they differ by {largest}");
    assert!(outcome.metrics.accuracy().unwrap() > 0.5);
}

#[test]
fn per_example_clipping_is_refused_where_examples_are_mixed() {
    let (model, (examples, _)) = (batch_norm_model(), digits());
    let clipping = Some(GradientClipping::PerExampleNorm(1.0));
    let plan = TrainingPlan { gradient_clipping: clipping, ..plan(1) };
    let refusal = Trainer::new(&model, &model.initial_weights(), plan, &examples, 1).err();
    assert!(matches!(refusal, Some(TrainError::Fit(FitError::MixedExamples))), "{refusal:?}");
}

#[test]
fn the_schedule_follows_local_steps() {
    let (_, examples) = line();
    let schedule = LearningRateSchedule::Exponential { factor: 0.5 };
    let plan = TrainingPlan { learning_rate_schedule: schedule, ..line_plan() };
    // 0.125 · 5, then 0.0625 · 1.875.
    assert_eq!(two_steps(plan, &examples), [1.625, 1.7421875]);
    let plan = TrainingPlan { warmup_steps: 2, ..line_plan() };
    // 0.0625 · 5, then 0.125 · 3.4375.
    assert_eq!(two_steps(plan, &examples), [1.3125, 1.7421875]);
}

#[test]
fn example_weights_are_shares_of_the_batch() {
    let (model, examples) = line();
    let weighted = |weights: Vec<f32>| examples.clone().with_weights(weights).unwrap();
    // Gradients are −2 and −8; with weights 3 and 1 their mean is −3.5.
    assert_eq!(two_steps(line_plan(), &weighted(vec![3.0, 1.0]))[0], 1.4375);
    assert_eq!(two_steps(line_plan(), &weighted(vec![5.0, 5.0])), two_steps(line_plan(), &examples));
    assert_eq!(two_steps(line_plan(), &weighted(vec![0.0, 0.0])), [1.0, 1.0]);
    let mut trainer = Trainer::new(&model, &[1.0], line_plan(), &examples, 0).unwrap();
    let error = trainer.step_on(&[0, 2]).unwrap_err();
    assert!(matches!(error, TrainError::NoSuchExample { index: 2, examples: 2 }), "{error}");
    // Weights multiply a gradient before clipping: 1.5 · −2 and 0.5 · −8, both clipped to −2.
    let clipping = Some(GradientClipping::PerExampleNorm(2.0));
    let plan = TrainingPlan { gradient_clipping: clipping, ..line_plan() };
    assert_eq!(two_steps(plan, &weighted(vec![3.0, 1.0]))[0], 1.25);
}

#[test]
fn running_statistics_move_and_may_stay_local() {
    let (model, (examples, _)) = (batch_norm_model(), digits());
    let is_statistic: Vec<bool> =
        model.parameters().iter().map(|spec| spec.kind == ParameterKind::Statistic).collect();
    assert!(is_statistic.contains(&true) && is_statistic.contains(&false));
    let names: Vec<&str> = model.parameters().iter().map(|spec| spec.name.as_str()).collect();
    let statistics =
        ranges(&model, |name| is_statistic[names.iter().position(|other| *other == name).unwrap()]);
    let start = model.initial_weights();
    let train = |statistics| {
        let plan = TrainingPlan { statistics, steps_max: Some(3), ..plan(1) };
        let mut trainer = Trainer::new(&model, &start, plan, &examples, 1).unwrap();
        while !trainer.step().unwrap().finished {}
        trainer.finish()
    };
    let (sent, kept) = (train(RunningStatistics::Aggregate), train(RunningStatistics::KeepLocal));
    assert_eq!(sent.weights, kept.weights);
    let mut others = sent.delta.clone();
    for range in statistics.into_iter().rev() {
        assert!(sent.delta[range.clone()].iter().any(|change| *change != 0.0));
        others.drain(range);
    }
    assert_eq!(kept.delta, others, "what is kept local does not travel");
}

#[test]
fn personal_tensors_train_like_others_and_do_not_travel() {
    let (model, (examples, _)) = (model(), digits());
    let start = model.initial_weights();
    let name = model.parameters().last().unwrap().name.clone();
    let head = ranges(&model, |other| other == name).remove(0);
    let train = |personal: Vec<NamePattern>| {
        let plan = TrainingPlan { personal, steps_max: Some(3), ..plan(1) };
        let mut trainer = Trainer::new(&model, &start, plan, &examples, 1).unwrap();
        while !trainer.step().unwrap().finished {}
        trainer.finish()
    };
    let (shared, own) = (train(Vec::new()), train(vec![NamePattern::from(name.as_str())]));
    assert_eq!(shared.weights, own.weights);
    assert_ne!(own.weights[head.clone()], start[head.clone()]);
    assert_eq!(own.delta, shared.delta[..head.start], "the last tensor is not in the delta");
}

#[test]
fn a_step_that_needs_too_much_memory_is_refused() {
    let (model, (examples, _)) = (model(), digits());
    let start = model.initial_weights();
    let needed = {
        let trainer = Trainer::new(&model, &start, plan(1), &examples, 1).unwrap();
        assert_eq!(trainer.memory().total(), trainer.memory_bytes());
        trainer.memory_bytes() as u64
    };
    let limited = |limit| TrainingPlan { memory_bytes_max: Some(limit), ..plan(1) };
    match Trainer::new(&model, &start, limited(needed - 1), &examples, 1) {
        Err(TrainError::Memory { needed: found, allowed, batch_size: 32 }) => {
            assert_eq!((found, allowed), (needed, needed - 1));
        }
        _ => panic!("it is not refused"),
    }
    // Memory does not suffice for the programs of full batches and of the smaller last batch together, so they take
    // turns.
    let turns = Trainer::new(&model, &start, limited(needed), &examples, 1).unwrap();
    let both = Trainer::new(&model, &start, plan(1), &examples, 1).unwrap();
    assert_eq!(finish(turns), finish(both));
}

#[test]
fn nothing_is_held_beyond_the_steps() {
    let (model, (examples, _)) = (model(), digits());
    let plan = TrainingPlan { epochs: 3, ..plan(3) };
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, 1).unwrap();
    let per_epoch = trainer.progress().steps_total / 3;
    for _ in 0..per_epoch {
        trainer.step().unwrap();
    }
    let held = trainer.memory();
    while !trainer.step().unwrap().finished {}
    assert_eq!(trainer.memory(), held);
}

#[test]
fn absurd_batch_sizes_are_the_size_of_the_data() {
    let (_, examples) = line();
    assert_eq!(two_steps(TrainingPlan { batch_size: u32::MAX, ..line_plan() }, &examples), [1.625, 1.859375]);
}
