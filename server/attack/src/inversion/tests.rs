//! Inversion of updates of the real engine.

use folkmoot_engine::{
    ImportLimits, LocalOptimizer, Loss, Model, TrainedPart, TrainingPlan, onnx::build::mlp,
};

use super::{
    client::Client,
    domain::Domain,
    layout::{Tensor, tensors},
    probes::{Weaknesses, one, probe},
    search::{descend, distance, gradient},
};
use crate::CannotAttack;

const CLASSES: u32 = 3;

fn model() -> Model {
    Model::from_onnx(&mlp(&[5, 12, CLASSES as usize], 1), &ImportLimits::default()).unwrap()
}

fn plan(optimizer: LocalOptimizer, epochs: u32) -> TrainingPlan {
    TrainingPlan { epochs, ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer) }
}

fn domain() -> Domain {
    Domain { low: vec![-1.0; 5], high: vec![1.0; 5] }
}

fn probed(client: &mut Client<'_>, tensors: &[Tensor]) -> Weaknesses {
    probe(client, &[5], tensors, &domain(), (CLASSES as usize, CLASSES as usize), 3).unwrap()
}

#[test]
fn one_example_and_plain_sgd_give_features_and_label_exactly() {
    let (model, example) = (model(), vec![0.3, -0.7, 0.05, 0.9, -0.2]);
    let momentum =
        LocalOptimizer::Sgd { learning_rate: 0.1, momentum: 0.9, nesterov: false, weight_decay: 0.0 };
    for (optimizer, epochs) in [(LocalOptimizer::sgd(0.1), 1), (momentum, 3)] {
        let plan = plan(optimizer, epochs);
        let tensors = tensors(&TrainedPart::of(&model, &plan).unwrap().schema());
        let mut client = Client::new(&model, plan, 1);
        let found = probed(&mut client, &tensors);
        let (dense, bias) = (found.dense.unwrap(), found.bias.unwrap());
        for label in 0..CLASSES {
            let update = client.update(&one(example.clone(), &[5], label).unwrap()).unwrap();
            let inverted = dense.invert(&update, &domain()).unwrap();
            let error = domain().squared_error(&example, &inverted);
            assert!(error < 1e-8, "{error}: {inverted:?}");
            assert_eq!(bias.guess(&update), label);
        }
    }
}

#[test]
fn adam_hides_the_quotient_but_not_the_label() {
    let adam = serde_json::from_value(serde_json::json!({ "adam": { "learning_rate": 0.01 } })).unwrap();
    let (model, plan) = (model(), plan(adam, 1));
    let tensors = tensors(&TrainedPart::of(&model, &plan).unwrap().schema());
    let found = probed(&mut Client::new(&model, plan, 1), &tensors);
    assert!(found.dense.is_none());
    assert!(found.bias.is_some());
}

#[test]
fn a_search_finds_an_example_whose_update_has_the_same_direction() {
    let (model, example) = (model(), vec![0.3, -0.7, 0.05, 0.9, -0.2]);
    let mut client = Client::new(&model, plan(LocalOptimizer::sgd(0.1), 1), 1);
    let observed = client.update(&one(example.clone(), &[5], 1).unwrap()).unwrap();
    let mut loss = |candidate: &[f32]| -> Result<f64, CannotAttack> {
        Ok(distance(&observed, &client.update(&one(candidate.to_vec(), &[5], 1)?)?))
    };
    let found = descend(&mut loss, vec![0.0; 5], &domain(), 120).unwrap();
    let error = domain().squared_error(&example, &found.example);
    assert!(found.loss < 0.01 && error < 0.02, "{found:?}, error {error}");
}

/// Returns the gradient of 1 − cosine for a linear softmax model with three features and two classes, by calculus.
///
/// With e = p − y, an update is −e⊗x for the weights and −e for the biases, times the learning rate, which the cosine does not
/// see. The derivative of pₖ with respect to xⱼ is pₖ·(wₖⱼ − Σₘ pₘwₘⱼ).
fn by_calculus(observed: &[f64], weights: &[f64], x: &[f64], label: usize) -> Vec<f64> {
    let scores: Vec<f64> = weights[..6].chunks(3).map(|row| dot(row, x)).collect();
    let sum: f64 = scores.iter().map(|score| score.exp()).sum();
    let p: Vec<f64> = scores.iter().map(|score| score.exp() / sum).collect();
    let e: Vec<f64> = (0..2).map(|class| p[class] - f64::from(u8::from(class == label))).collect();
    let update: Vec<f64> =
        e.iter().flat_map(|e| x.iter().map(move |x| -e * x)).chain(e.iter().map(|e| -e)).collect();
    let (norm, other) = (dot(&update, &update).sqrt(), dot(observed, observed).sqrt());
    let slope = |feature: usize| {
        let column = [weights[feature], weights[3 + feature]];
        let mean = dot(&p, &column);
        let slopes: Vec<f64> = (0..2).map(|class| p[class] * (column[class] - mean)).collect();
        let of_weight = |class: usize, input: usize| {
            let own = if input == feature { e[class] } else { 0.0 };
            -(slopes[class] * x[input] + own)
        };
        let of_weights = (0..6).map(|place| of_weight(place / 3, place % 3));
        let change: Vec<f64> = of_weights.chain(slopes.iter().map(|slope| -slope)).collect();
        dot(observed, &update) * dot(&update, &change) / (other * norm.powi(3))
            - dot(observed, &change) / (other * norm)
    };
    (0..3).map(slope).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn central_differences_are_the_gradient_of_a_linear_model_by_calculus() {
    let model = Model::from_onnx(&mlp(&[3, 2], 4), &ImportLimits::default()).unwrap();
    let mut client = Client::new(&model, plan(LocalOptimizer::sgd(0.5), 1), 1);
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
    let observed = client.update(&one(vec![0.4, -0.6, 0.2], &[3], 1).unwrap()).unwrap();
    let mut loss = |candidate: &[f32]| -> Result<f64, CannotAttack> {
        Ok(distance(&observed, &client.update(&one(candidate.to_vec(), &[3], 1)?)?))
    };
    let domain = Domain { low: vec![-1.0; 3], high: vec![1.0; 3] };
    for at in [[0.1f32, 0.5, -0.3], [-0.7, 0.2, 0.6]] {
        let found = gradient(&mut loss, &mut at.to_vec(), &domain).unwrap();
        let expected = by_calculus(&wide(&observed), &wide(&model.initial_weights()), &wide(&at), 1);
        for (found, expected) in found.iter().zip(expected) {
            // The range is 2 long, and gradients are in units of the range.
            assert!((found - 2.0 * expected).abs() < 2e-3, "{found} is not {}", 2.0 * expected);
        }
    }
}
