//! Inversion of updates of the real engine.

use folkmoot_engine::{
    ImportLimits, LocalOptimizer, Loss, Model, TrainedPart, TrainingPlan, onnx::build::mlp,
};

use super::{
    client::Client,
    domain::Domain,
    layout::{Tensor, tensors},
    probes::{Weaknesses, one, probe},
    search::{descend, distance},
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
