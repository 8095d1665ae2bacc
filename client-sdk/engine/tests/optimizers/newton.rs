//! Newton's method where a whole step would be too long, and in a model with large frozen weights.

use crate::digits_example::digits;
use folkmoot_engine::{
    Examples, ImportLimits, LocalOptimizer, Loss, Model, Trainer, TrainingPlan, evaluate, onnx::build::mlp,
};

/// A linear model, so the loss is convex.
fn linear() -> Model {
    Model::from_onnx(&mlp(&[64, 10], 3), &ImportLimits::default()).expect("it is a model")
}

fn some_digits() -> Examples {
    let (examples, _) = digits();
    examples.subset(&(0..150).collect::<Vec<_>>()).expect("there are as many")
}

fn plan(steps: u32) -> TrainingPlan {
    let newton = LocalOptimizer::Newton { learning_rate: 1.0, damping: 1e-3, cg_steps: 30, tolerance: 1e-3 };
    TrainingPlan { batch_size: 150, epochs: steps, ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, newton) }
}

fn trained(start: &[f32], plan: TrainingPlan) -> Vec<f32> {
    let mut trainer = Trainer::new(&linear(), start, plan, &some_digits(), 7).expect("it fits");
    while !trainer.step().expect("it does not diverge").finished {}
    trainer.weights().to_vec()
}

fn loss(weights: &[f32]) -> f64 {
    let metrics = evaluate(&linear(), weights, &some_digits(), Loss::SoftmaxCrossEntropy).expect("it fits");
    metrics.mean_loss().expect("there are examples")
}

#[test]
fn no_step_raises_the_loss_from_a_bad_start() {
    // With weights that are this large, the outputs are saturated: there is hardly any curvature, and a whole step is far too long.
    let mut weights: Vec<f32> = linear().initial_weights().iter().map(|weight| weight * 30.0).collect();
    let mut losses = vec![loss(&weights)];
    for _ in 0..5 {
        weights = trained(&weights, plan(1));
        losses.push(loss(&weights));
    }
    assert!(losses.is_sorted_by(|before, after| *after <= before * 1.00001), "{losses:?}");
    assert!(losses[5] < 0.2 * losses[0], "{losses:?}");
}

#[test]
fn weights_that_are_not_trained_do_not_matter() {
    let start = linear().initial_weights();
    let count = start.len() - 10;
    // Adding the same number to the scores of all classes changes no probability.
    let shifted: Vec<f32> = start[..count].iter().copied().chain([1000.0; 10]).collect();
    let plain: Vec<f32> = start[..count].iter().copied().chain([0.0; 10]).collect();
    let frozen = || TrainingPlan { frozen: vec!["layer_1.bias".into()], ..plan(1) };
    let (shifted, plain) = (trained(&shifted, frozen()), trained(&plain, frozen()));
    let moved = plain[..count].iter().zip(&start).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    let apart =
        shifted[..count].iter().zip(&plain).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    // Outputs near 1000 have only four digits behind the point.
    assert!(moved > 0.1 && apart < 0.05 * moved, "{apart} of {moved}");
}
