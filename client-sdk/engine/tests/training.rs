//! Compares the optimizer end to end with arithmetic by hand, and tests refused training arguments.

use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, FitError, ImportLimits, Labels, LocalOptimizer, Loss, Model, PlanError, TrainError, Trainer,
    TrainingPlan, onnx,
};

/// Returns the model `output = input * weights` with one weight.
fn line() -> Model {
    Model::from_onnx(&onnx::build::single_tensor(1), &ImportLimits::default()).expect("built models import")
}

fn line_plan(momentum: f32, weight_decay: f32, proximal_term: f32) -> TrainingPlan {
    let optimizer = LocalOptimizer::Sgd { learning_rate: 0.125, momentum, nesterov: false, weight_decay };
    let plan = TrainingPlan::new(Loss::MeanSquaredError, optimizer);
    TrainingPlan { epochs: 2, batch_size: 2, proximal_term, ..plan }
}

fn line_examples() -> Examples {
    Examples::new(vec![1.0, 2.0], vec![1], Labels::Targets(vec![2.0, 4.0], 1)).expect("the lengths fit")
}

fn train(model: &Model, start: &[f32], plan: TrainingPlan, examples: &Examples) -> Result<f32, TrainError> {
    let mut trainer = Trainer::new(model, start, plan, examples, 0)?;
    while !trainer.step()?.finished {}
    Ok(trainer.finish().delta[0])
}

#[test]
fn two_steps_by_hand() {
    // The mean squared error of w * x against 2 x over x = 1, 2 is 2.5 (w - 2)²; its gradient is 5 (w - 2).
    let (model, examples) = (line(), line_examples());
    // w = 1, then 1 + 0.625 = 1.625, then 1.625 + 0.125 * 1.875 = 1.859375.
    assert_eq!(train(&model, &[1.0], line_plan(0.0, 0.0, 0.0), &examples).unwrap(), 0.859375);
    // Momentum 0.5: v = -5, then -2.5 - 1.875 = -4.375.
    assert_eq!(train(&model, &[1.0], line_plan(0.5, 0.0, 0.0), &examples).unwrap(), 1.171875);
    // Weight decay 1 adds w: 1 + 0.125 * 4 = 1.5, then 1.5 + 0.125 * (2.5 - 1.5).
    assert_eq!(train(&model, &[1.0], line_plan(0.0, 1.0, 0.0), &examples).unwrap(), 0.625);
    // The proximal term 1 adds w - 1: 1.625, then 1.625 + 0.125 * (1.875 - 0.625).
    assert_eq!(train(&model, &[1.0], line_plan(0.0, 0.0, 1.0), &examples).unwrap(), 0.78125);
}

#[test]
fn a_training_that_diverges_is_an_error() {
    let plan = TrainingPlan { optimizer: LocalOptimizer::sgd(1e30), ..line_plan(0.0, 0.0, 0.0) };
    let error = train(&line(), &[1.0], plan, &line_examples()).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 2 }), "{error}");
}

#[test]
fn numbers_out_of_range_are_refused() {
    let plan = TrainingPlan { batch_size: 0, ..line_plan(0.0, 0.0, 0.0) };
    let error = train(&line(), &[1.0], plan, &line_examples()).unwrap_err();
    assert!(matches!(error, TrainError::Plan(PlanError { field: "batch_size", .. })));
    let error = train(&line(), &[1.0], line_plan(1.0, 0.0, 0.0), &line_examples()).unwrap_err();
    assert_eq!(error.to_string(), "optimizer.sgd.momentum is 1; it must be 0 or more and below 1");
    let error = train(&line(), &[1.0], line_plan(0.0, f32::NAN, 0.0), &line_examples()).unwrap_err();
    assert!(matches!(error, TrainError::Plan(PlanError { field: "optimizer.sgd.weight_decay", .. })));
}

#[test]
fn what_does_not_fit_the_model_is_refused() {
    let model = model();
    let weights = model.initial_weights();
    let refusal =
        |weights: &[f32], examples: &Examples| match Trainer::new(&model, weights, plan(1), examples, 0) {
            Err(TrainError::Fit(error)) => error,
            _ => panic!("this does not fit"),
        };
    let (training, _) = digits();
    assert!(matches!(refusal(&weights[1..], &training), FitError::WeightCount { .. }));
    let mut broken = weights.clone();
    broken[5] = f32::INFINITY;
    assert_eq!(refusal(&broken, &training), FitError::WeightNotFinite { index: 5 });

    let examples = |width: usize, labels| Examples::new(vec![0.0; width], vec![width], labels).unwrap();
    let error = refusal(&weights, &examples(64, Labels::Classes(vec![10])));
    assert_eq!(error, FitError::ClassOutOfRange { row: 0, class: 10, class_max: 9 });
    let error = refusal(&weights, &examples(63, Labels::Classes(vec![1])));
    assert!(matches!(error, FitError::FeatureShape { .. }));
    let error = refusal(&weights, &examples(64, Labels::Targets(vec![1.0], 1)));
    assert!(matches!(error, FitError::OutputShape { .. }), "{error}");
    let shares = Labels::Targets(vec![0.2; 10], 10);
    let error = refusal(&weights, &examples(64, shares));
    assert!(matches!(error, FitError::TargetOutOfRange { row: 0, .. }), "{error}");
    let nothing = training.subset(&[]).unwrap();
    assert!(matches!(Trainer::new(&model, &weights, plan(1), &nothing, 0), Err(TrainError::NoExamples)));
}

#[test]
fn everything_can_move_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Model>();
    is_send::<Examples>();
    is_send::<Trainer>();
    is_send::<TrainError>();
}
