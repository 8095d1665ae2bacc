//! Proximal and projected steps: which tensors they change, and that a stopped training with them resumes bit for bit.

use folkmoot_engine::{
    FitError, L1, LocalOptimizer, NamePattern, TrainError, Trainer, TrainingOutcome, TrainingPlan, ValueRange,
};

use crate::digits_example::{digits, model, plan};

const SEED: u64 = 3;

fn constrained() -> TrainingPlan {
    let tensors = |pattern: &str| vec![NamePattern::from(pattern)];
    TrainingPlan {
        l1: Some(Box::new(L1 { strength: 0.05, tensors: tensors("*.weight") })),
        value_range: Some(Box::new(ValueRange {
            min: Some(-0.05),
            max: Some(0.125),
            tensors: tensors("layer_1.*"),
        })),
        optimizer: LocalOptimizer::sgd(0.1),
        batch_size: 64,
        ..plan(2)
    }
}

fn trainer(plan: &TrainingPlan) -> Result<Trainer, TrainError> {
    let model = model();
    Trainer::new(&model, &model.initial_weights(), plan.clone(), &digits().0, SEED)
}

fn finished(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

#[test]
fn chosen_tensors_are_sparse_and_in_their_range() {
    let found = finished(trainer(&constrained()).unwrap());
    let mut at = 0;
    for spec in model().parameters() {
        let weights = &found.weights[at..at + spec.shape.iter().product::<usize>()];
        at += weights.len();
        let zeros = weights.iter().filter(|weight| **weight == 0.0).count();
        let in_range = weights.iter().all(|weight| (-0.05..=0.125).contains(weight));
        assert_eq!(zeros * 20 > weights.len(), spec.name.ends_with(".weight"), "{}: {zeros}", spec.name);
        assert!(in_range || !spec.name.starts_with("layer_1"), "{}", spec.name);
    }
    let plain = TrainingPlan { l1: None, value_range: None, ..constrained() };
    let zeros = finished(trainer(&plain).unwrap()).weights.iter().filter(|weight| **weight == 0.0).count();
    assert!(zeros * 20 < found.weights.len(), "{zeros}");
}

#[test]
fn they_resume_and_restart_bit_exactly() {
    let (plan, model, examples) = (constrained(), model(), digits().0);
    let start = model.initial_weights();
    let expected = finished(trainer(&plan).unwrap());
    let mut stopped = trainer(&plan).unwrap();
    while !stopped.step().unwrap().finished {
        let checkpoint = stopped.checkpoint();
        stopped = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
    }
    assert_eq!(stopped.outcome(), expected);
    stopped.restart(&start, &examples, SEED).unwrap();
    assert_eq!(finished(stopped), expected);
}

#[test]
fn frozen_tensors_stay_and_patterns_must_match() {
    let frozen = TrainingPlan { frozen: vec!["layer_1.*".into()], ..constrained() };
    let (found, start) = (finished(trainer(&frozen).unwrap()).weights, model().initial_weights());
    let mut at = 0;
    for spec in model().parameters() {
        let range = at..at + spec.shape.iter().product::<usize>();
        at = range.end;
        let is_same = found[range.clone()] == start[range];
        assert_eq!(is_same, spec.name.starts_with("layer_1"), "{}", spec.name);
    }
    let mut wrong = constrained();
    wrong.l1 = Some(Box::new(L1 { strength: 0.1, tensors: vec!["head.*".into()] }));
    let error = trainer(&wrong).err().expect("no tensor has the name");
    assert!(matches!(error, TrainError::Fit(FitError::Pattern { list: "l1.tensors", .. })), "{error}");
}
