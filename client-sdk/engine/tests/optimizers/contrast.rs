//! A term of the loss that compares the model with others: what does not fit, and that a stopped training resumes bit
//! for bit.

use folkmoot_engine::{
    Examples, FitError, ModelContrast, TrainError, Trainer, TrainingOutcome, TrainingPlan,
};

use crate::digits_example::{digits, model, plan};

const SEED: u64 = 3;

fn some_digits() -> Examples {
    let examples = digits().0.subset(&(0..40).collect::<Vec<_>>()).expect("there are as many");
    examples.with_weights((0..40u8).map(|row| 1.0 + f32::from(row % 3)).collect()).expect("there are as many")
}

fn contrasted(features: &str) -> TrainingPlan {
    let contrast = ModelContrast { features: features.into(), weight: 1.0, temperature: 0.5 };
    TrainingPlan { model_contrast: Some(Box::new(contrast)), batch_size: 16, ..plan(2) }
}

fn trainer(plan: &TrainingPlan) -> Result<Trainer, TrainError> {
    let model = model();
    Trainer::new(&model, &model.initial_weights(), plan.clone(), &some_digits(), SEED)
}

fn finished(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

/// Returns the weights at the end of a plain training.
fn previous() -> Vec<f32> {
    finished(trainer(&plan(1)).expect("it fits")).weights
}

fn distance(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
}

#[test]
fn without_a_last_local_model_the_term_has_no_gradient() {
    let plain = TrainingPlan { model_contrast: None, ..contrasted("activated") };
    let plain = finished(trainer(&plain).unwrap());
    let first = finished(trainer(&contrasted("activated")).unwrap());
    assert!(distance(&first.delta, &plain.delta) < 1e-6);
    // The reported loss covers only the examples.
    assert!((first.metrics.loss_sum - plain.metrics.loss_sum).abs() < 1e-4);
    let mut later = trainer(&contrasted("activated")).unwrap();
    later.contrast_with(&previous()).unwrap();
    assert!(distance(&finished(later).delta, &plain.delta) > 1e-3);
}

#[test]
fn a_training_goes_on_bit_for_bit_and_begins_again_without_it() {
    let begun = || {
        let mut trainer = trainer(&contrasted("logits")).unwrap();
        trainer.contrast_with(&previous()).unwrap();
        trainer
    };
    let whole = finished(begun());
    let mut stopped = begun();
    for _ in 0..3 {
        stopped.step().unwrap();
    }
    let checkpoint = stopped.checkpoint();
    let (model, examples, plan) = (model(), some_digits(), contrasted("logits"));
    let mut resumed =
        Trainer::resume(&model, &model.initial_weights(), plan.clone(), &examples, &checkpoint).unwrap();
    resumed.contrast_with(&previous()).unwrap();
    assert_eq!(finished(resumed), whole);
    stopped.restart(&model.initial_weights(), &examples, SEED).unwrap();
    assert_eq!(finished(stopped), finished(trainer(&plan).unwrap()));
}

#[test]
fn features_have_to_be_in_the_model_and_memory_has_to_suffice() {
    let Err(TrainError::Fit(error @ FitError::Features { .. })) = trainer(&contrasted("hiden")) else {
        panic!("there are no such features");
    };
    let text = error.to_string();
    assert!(text.contains("hiden") && text.contains("plan.model_contrast.features"), "{text}");
    // The memory of a last local model counts even before there is one. So a client that can train once always can.
    let plain = trainer(&TrainingPlan { model_contrast: None, ..contrasted("activated") }).unwrap();
    let mut fitting = trainer(&contrasted("activated")).unwrap();
    let (before, bytes) = (fitting.memory_bytes(), previous().len() * size_of::<f32>());
    assert!(before > plain.memory_bytes() + bytes);
    fitting.contrast_with(&previous()).unwrap();
    fitting.step().unwrap();
    assert_eq!(fitting.memory_bytes(), before);
    let narrow = TrainingPlan { memory_bytes_max: Some(before as u64 - 1), ..contrasted("activated") };
    assert!(matches!(trainer(&narrow), Err(TrainError::Memory { .. })));
    assert!(matches!(fitting.contrast_with(&[0.0; 3]), Err(FitError::WeightCount { .. })));
}
