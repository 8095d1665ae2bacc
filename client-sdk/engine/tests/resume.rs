//! Stopping and resuming changes nothing, and only checkpoints of the same training run are accepted.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    CheckpointError, Examples, LearningRateSchedule, LocalOptimizer, Model, NamePattern, TrainError, Trainer,
    TrainingOutcome, TrainingPlan,
};

const SEED: u64 = 11;

fn small() -> (Model, Examples, TrainingPlan) {
    let (training, _) = digits();
    let indices: Vec<usize> = (0..100).collect();
    let examples = training.subset(&indices).expect("the indices are those of rows");
    (model(), examples, TrainingPlan { proximal_term: 0.01, ..plan(3) })
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn uninterrupted(model: &Model, examples: &Examples, plan: &TrainingPlan, seed: u64) -> TrainingOutcome {
    let trainer = Trainer::new(model, &model.initial_weights(), plan.clone(), examples, seed);
    let mut trainer = trainer.expect("plan and examples fit");
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

#[test]
fn a_training_that_stops_after_every_step_is_bit_identical() {
    let (model, examples, plan) = small();
    let expected = uninterrupted(&model, &examples, &plan, SEED);
    let start = model.initial_weights();
    let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap();
    while !trainer.step().unwrap().finished {
        let checkpoint = trainer.checkpoint();
        trainer = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
    }
    let outcome = trainer.finish();
    assert_eq!(bits(&outcome.weights), bits(&expected.weights));
    assert_eq!(bits(&outcome.delta), bits(&expected.delta));
    assert_eq!(outcome.metrics, expected.metrics);
    assert_eq!(outcome.metrics.step_count, 12);
}

#[test]
fn the_seed_decides_the_result() {
    let (model, examples, plan) = small();
    let first = uninterrupted(&model, &examples, &plan, SEED);
    assert_eq!(first, uninterrupted(&model, &examples, &plan, SEED));
    assert_ne!(first.delta, uninterrupted(&model, &examples, &plan, SEED + 1).delta);
}

#[test]
fn a_finished_training_repeats_its_progress() {
    let (model, examples, plan) = small();
    let plan = TrainingPlan { steps_max: Some(2), ..plan };
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, SEED).unwrap();
    assert!(!trainer.step().unwrap().finished);
    let last = trainer.step().unwrap();
    assert!(last.finished);
    assert_eq!(trainer.step().unwrap(), last);
    assert_eq!(trainer.finish().metrics.step_count, 2);
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let (model, examples, plan) = small();
    let start = model.initial_weights();
    let checkpoint = Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap().checkpoint();
    let refusal = |start: &[f32], plan: TrainingPlan, examples: &Examples| match Trainer::resume(
        &model,
        start,
        plan,
        examples,
        &checkpoint,
    ) {
        Err(TrainError::Checkpoint(error)) => Some(error),
        _ => None,
    };
    let other_plan = TrainingPlan { epochs: 4, ..plan.clone() };
    assert_eq!(refusal(&start, other_plan, &examples), Some(CheckpointError::OtherTraining));
    let fewer = examples.subset(&[0, 1]).unwrap();
    assert_eq!(refusal(&start, plan.clone(), &fewer), Some(CheckpointError::OtherTraining));
    let mut other_start = start.clone();
    other_start[0] += 1.0;
    assert_eq!(refusal(&other_start, plan.clone(), &examples), Some(CheckpointError::OtherTraining));
    assert_eq!(refusal(&start, plan, &examples), None);
}

/// Tests every optimizer, and everything that depends on the step number: schedule and dropout.
#[test]
fn every_optimizer_resumes_bit_exactly() {
    let (model, examples, plan) = small();
    let optimizers = [
        r#"{"sgd":{"learning_rate":0.1}}"#,
        r#"{"sgd":{"learning_rate":0.1,"momentum":0.9,"nesterov":true}}"#,
        r#"{"adam":{"learning_rate":0.01}}"#,
        r#"{"adamw":{"learning_rate":0.01}}"#,
        r#"{"adagrad":{"learning_rate":0.01}}"#,
        r#"{"rmsprop":{"learning_rate":0.01}}"#,
        r#"{"rmsprop":{"learning_rate":0.01,"momentum":0.5}}"#,
        r#"{"lion":{"learning_rate":0.001}}"#,
        r#"{"muon":{"learning_rate":0.001,"weight_decay":0.01}}"#,
        r#"{"adafactor":{"learning_rate":0.01}}"#,
        r#"{"newton":{"learning_rate":0.1,"cg_steps":3}}"#,
    ];
    let start = model.initial_weights();
    for json in optimizers {
        let optimizer: LocalOptimizer = serde_json::from_str(json).unwrap();
        let schedule = LearningRateSchedule::Cosine { final_factor: 0.1, steps: 10 };
        let frozen = vec![NamePattern::from("layer_1.bias")];
        let plan = TrainingPlan {
            optimizer,
            learning_rate_schedule: schedule,
            warmup_steps: 2,
            frozen,
            // Newton's method has damping instead of a proximal term.
            proximal_term: if optimizer.is_newton() { 0.0 } else { plan.proximal_term },
            ..plan.clone()
        };
        let expected = uninterrupted(&model, &examples, &plan, SEED);
        let mut trainer = Trainer::new(&model, &start, plan.clone(), &examples, SEED).unwrap();
        while !trainer.step().unwrap().finished {
            let checkpoint = trainer.checkpoint();
            trainer = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
        }
        let outcome = trainer.finish();
        assert_eq!(bits(&outcome.weights), bits(&expected.weights), "{json}");
        assert_eq!(outcome.metrics, expected.metrics, "{json}");
    }
}
