//! tract reads the same files and computes the same outputs.
#![cfg(feature = "tract")]

mod support;

use folkmoot_engine::{ImportLimits, InferenceError, InferenceModel, Loss, Model, Trainer, evaluate, onnx};
use support::{digits, model, plan};

/// The largest difference between the two sums of losses, relative to our sum. Both compute in single precision.
const LOSS_TOLERANCE: f64 = 1e-5;

#[test]
fn tract_agrees_on_the_trained_and_exported_digits_model() {
    let (training, held_out) = digits();
    let model = model();
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan(2), &training, 1).unwrap();
    while !trainer.step().unwrap().finished {}
    let weights = trainer.finish().weights;
    let exported = model.export_onnx(&weights).unwrap();

    let inference = InferenceModel::from_onnx(&exported).unwrap();
    assert_eq!((inference.input_shape(), inference.output_shape()), (&[64][..], &[10][..]));
    let ours = evaluate(&model, &weights, &held_out, Loss::SoftmaxCrossEntropy).unwrap();
    let theirs = inference.evaluate(&held_out).unwrap();
    assert_eq!((ours.example_count, ours.correct_count), (theirs.example_count, theirs.correct_count));
    assert!((ours.loss_sum - theirs.loss_sum).abs() <= LOSS_TOLERANCE * ours.loss_sum, "{ours:?} {theirs:?}");
    let again = Model::from_onnx(&exported, &ImportLimits::default()).unwrap();
    assert_eq!(again.initial_weights(), weights);
}

#[test]
fn predictions_have_a_row_for_each_example() {
    let inference = InferenceModel::from_onnx(&onnx::build::mlp(&[3, 4, 2], 5)).unwrap();
    assert_eq!(inference.predict(&[0.5; 9], 3).unwrap().len(), 6);
    assert_eq!(inference.predict(&[], 0).unwrap().len(), 0);
    assert!(matches!(inference.predict(&[0.5; 8], 3), Err(InferenceError::WrongLength { expected: 9, .. })));
    assert!(matches!(InferenceModel::from_onnx(b"no model"), Err(InferenceError::Load(_))));
}

#[test]
fn a_model_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<InferenceModel>();
    is_shared::<InferenceError>();
}
