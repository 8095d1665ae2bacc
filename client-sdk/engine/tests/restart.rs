//! A restarted trainer gives results that are bit-identical to those of a new one, regardless of its earlier work.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, FitError, GradientClipping, ImportLimits, Labels, Loss, Model, NamePattern, RunningStatistics,
    TrainError, Trainer, TrainingOutcome, TrainingPlan, onnx,
};

const SEED: u64 = 11;
const FITS: &str = "plan and examples fit";

/// Returns `count` of the digit examples, starting at row `first`.
fn some_digits(first: usize, count: usize) -> Examples {
    let rows: Vec<usize> = (first..first + count).collect();
    digits().0.subset(&rows).expect("the indices are those of rows")
}

fn weighted(examples: &Examples) -> Examples {
    let weights = (0..examples.len()).map(|row| 1.0 + (row % 3) as f32).collect();
    examples.clone().with_weights(weights).expect("there is one for each")
}

fn batch_norm_model() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/residual_cnn_batch_norm.onnx");
    let bytes = std::fs::read(path).expect("the example is in the repository");
    Model::from_onnx(&bytes, &ImportLimits::default()).expect("the example is a valid model")
}

fn run(trainer: &mut Trainer) -> (Vec<u32>, TrainingOutcome) {
    while !trainer.step().expect("this training does not diverge").finished {}
    let outcome = trainer.outcome();
    (outcome.delta.iter().map(|change| change.to_bits()).collect(), outcome)
}

/// Returns weights moved by a constant.
fn moved(weights: &[f32], by: f32) -> Vec<f32> {
    weights.iter().map(|weight| weight + by).collect()
}

/// Restarts one trainer with different numbers of examples, and compares each run with that of a new trainer.
fn check(model: &Model, plan: &TrainingPlan, what: &str) {
    let start = model.initial_weights();
    let mut trainer = Trainer::new(model, &start, plan.clone(), &some_digits(0, 40), SEED).expect(FITS);
    trainer.step().expect("this training does not diverge");
    let full = some_digits(50, 32);
    let runs = [
        (full.clone(), 0.0, SEED),
        (full.clone(), 0.01, SEED),
        (full.clone(), 0.0, SEED + 1),
        (some_digits(3, 37), 0.0, SEED),
        (some_digits(3, 5), 0.01, SEED),
        (weighted(&full), 0.0, SEED),
        (some_digits(9, 40), 0.0, SEED),
    ];
    for (examples, by, seed) in runs {
        let weights = moved(&start, by);
        trainer.restart(&weights, &examples, seed).expect(FITS);
        let mut new = Trainer::new(model, &weights, plan.clone(), &examples, seed).expect(FITS);
        assert_eq!(trainer.progress(), new.progress());
        assert_eq!(trainer.checkpoint(), new.checkpoint(), "{what}: before the first step");
        assert_eq!(run(&mut trainer), run(&mut new), "{what}: {} examples", examples.len());
        assert_eq!(trainer.checkpoint(), new.checkpoint(), "{what}: at the end");
    }
}

#[test]
fn every_optimizer_begins_anew() {
    let optimizers = [
        r#"{"sgd":{"learning_rate":0.1}}"#,
        r#"{"sgd":{"learning_rate":0.1,"momentum":0.9,"nesterov":true}}"#,
        r#"{"adam":{"learning_rate":0.01}}"#,
        r#"{"rmsprop":{"learning_rate":0.01,"momentum":0.5}}"#,
        r#"{"lion":{"learning_rate":0.001}}"#,
        r#"{"muon":{"learning_rate":0.001,"weight_decay":0.01}}"#,
        r#"{"adafactor":{"learning_rate":0.01}}"#,
        r#"{"newton":{"learning_rate":0.1,"cg_steps":3}}"#,
    ];
    for json in optimizers {
        let plan = TrainingPlan { optimizer: serde_json::from_str(json).unwrap(), batch_size: 8, ..plan(2) };
        check(&model(), &plan, json);
        let frozen = vec![NamePattern::from("layer_1.*")];
        check(&model(), &TrainingPlan { frozen, ..plan }, &format!("{json}, frozen"));
    }
}

#[test]
fn whatever_a_plan_asks_for_begins_anew() {
    let plan = TrainingPlan { batch_size: 8, proximal_term: 0.1, warmup_steps: 3, ..plan(2) };
    let clipped = |clipping| TrainingPlan { gradient_clipping: Some(clipping), ..plan.clone() };
    check(&model(), &clipped(GradientClipping::Norm(0.5)), "clipping by norm");
    check(&model(), &clipped(GradientClipping::PerExampleNorm(0.5)), "clipping by example");
    check(&model(), &TrainingPlan { accumulation_steps: 3, ..plan.clone() }, "accumulation");
    check(&model(), &TrainingPlan { batch_size: 1_000_000, ..plan.clone() }, "all examples at once");
    check(&model(), &TrainingPlan { memory_bytes_max: Some(1 << 30), ..plan }, "a limit that is far");
}

#[test]
fn running_statistics_begin_anew() {
    let plan = TrainingPlan { batch_size: 8, ..plan(1) };
    check(&batch_norm_model(), &plan, "statistics that are sent");
    let kept = TrainingPlan { statistics: RunningStatistics::KeepLocal, ..plan };
    check(&batch_norm_model(), &kept, "statistics that are kept");
}

#[test]
fn what_diverged_or_was_corrected_leaves_no_trace() {
    let (model, examples) = (model(), some_digits(0, 30));
    let (start, plan) = (model.initial_weights(), TrainingPlan { batch_size: 8, ..plan(1) });
    let expected = run(&mut Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap());
    let mut trainer = Trainer::new(&model, &start, plan, &examples, SEED).unwrap();
    trainer.set_gradient_correction(vec![1e38; start.len()]).unwrap();
    assert!(matches!(trainer.advance(u64::MAX), Err(TrainError::Diverged { .. })));
    trainer.restart(&start, &examples, SEED).unwrap();
    assert_eq!(run(&mut trainer), expected);
}

#[test]
fn what_does_not_fit_is_refused_and_the_training_goes_on() {
    let (model, examples) = (model(), some_digits(0, 30));
    let (start, plan) = (model.initial_weights(), TrainingPlan { batch_size: 8, ..plan(2) });
    let expected = run(&mut Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap());
    let mut trainer = Trainer::new(&model, &start, plan, &examples, SEED).unwrap();
    trainer.step().unwrap();
    let refusal = |trainer: &mut Trainer, weights: &[f32], examples: &Examples| {
        trainer.restart(weights, examples, SEED + 1).expect_err("it does not fit")
    };
    let error = refusal(&mut trainer, &start[1..], &examples);
    assert!(matches!(error, TrainError::Fit(FitError::WeightCount { .. })), "{error}");
    let mut infinite = start.clone();
    infinite[7] = f32::INFINITY;
    let error = refusal(&mut trainer, &infinite, &examples);
    assert!(matches!(error, TrainError::Fit(FitError::WeightNotFinite { index: 7 })), "{error}");
    let empty = examples.subset(&[]).unwrap();
    assert!(matches!(refusal(&mut trainer, &start, &empty), TrainError::NoExamples));
    let narrow = Examples::new(vec![0.5; 3], vec![3], Labels::Classes(vec![0])).unwrap();
    let error = refusal(&mut trainer, &start, &narrow);
    assert!(matches!(error, TrainError::Fit(FitError::FeatureShape { .. })), "{error}");
    assert_eq!(run(&mut trainer), expected);
}

#[test]
fn a_memory_limit_is_that_of_a_new_trainer() {
    let (model, small, large) = (model(), some_digits(0, 5), some_digits(0, 64));
    let (start, plan) = (model.initial_weights(), TrainingPlan { batch_size: 64, ..plan(2) });
    let new = |plan: &TrainingPlan, examples| Trainer::new(&model, &start, plan.clone(), examples, SEED);
    let needed = new(&plan, &large).unwrap().memory_bytes() as u64;
    let limited = TrainingPlan { memory_bytes_max: Some(needed - 1), ..plan.clone() };
    let mut trainer = new(&limited, &small).unwrap();
    let expected = run(&mut new(&plan, &small).unwrap());
    let error = trainer.restart(&start, &large, SEED).expect_err("it is too much");
    assert!(
        matches!(error, TrainError::Memory { batch_size: 64, needed: found, .. } if found == needed),
        "{error}"
    );
    assert_eq!(run(&mut trainer), expected, "the training is where it was");
    // Memory that just suffices also suffices after other batch sizes.
    let enough = TrainingPlan { memory_bytes_max: Some(needed), ..plan };
    let mut trainer = new(&enough, &large).unwrap();
    for examples in [&small, &large, &some_digits(0, 50), &large] {
        trainer.restart(&start, examples, SEED).unwrap();
        assert!(trainer.memory_bytes() as u64 <= needed);
        assert_eq!(run(&mut trainer), run(&mut new(&enough, examples).unwrap()));
    }
}

#[test]
fn another_kind_of_labels_is_compiled_anew() {
    let model = Model::from_onnx(&onnx::build::mlp(&[2, 1], 1), &ImportLimits::default()).unwrap();
    let features = vec![0.5, -0.5, 0.25, 1.0];
    let classes = Examples::new(features.clone(), vec![2], Labels::Classes(vec![0, 1])).unwrap();
    let targets = Examples::new(features, vec![2], Labels::Targets(vec![0.25, 0.75], 1)).unwrap();
    let plan = TrainingPlan { loss: Loss::BinaryCrossEntropy, batch_size: 2, ..plan(3) };
    let start = model.initial_weights();
    let mut trainer = Trainer::new(&model, &start, plan.clone(), &classes, SEED).unwrap();
    for examples in [&targets, &classes, &targets] {
        trainer.restart(&start, examples, SEED).unwrap();
        let mut new = Trainer::new(&model, &start, plan.clone(), examples, SEED).unwrap();
        assert_eq!(run(&mut trainer), run(&mut new));
    }
}

#[test]
fn a_training_may_end_before_its_last_step() {
    let (model, examples) = (model(), some_digits(0, 30));
    let (start, plan) = (model.initial_weights(), TrainingPlan { batch_size: 8, ..plan(2) });
    let new = |steps_max| {
        let plan = TrainingPlan { steps_max, ..plan.clone() };
        Trainer::new(&model, &start, plan, &examples, SEED).unwrap()
    };
    for steps in [0u32, 1, 3, 8] {
        let mut trainer = new(None);
        trainer.advance(steps.into()).unwrap();
        let so_far = trainer.outcome();
        assert_eq!(so_far.metrics.step_count, u64::from(steps));
        assert_eq!(trainer.finish(), so_far);
        match steps {
            0 => assert!(so_far.delta.iter().all(|change| *change == 0.0)),
            _ => assert_eq!(run(&mut new(Some(steps))).1, so_far),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
#[test]
fn a_trainer_may_move_between_threads() {
    fn expect_send<T: Send>() {}
    expect_send::<Trainer>();
    expect_send::<folkmoot_engine::Evaluator>();
}
