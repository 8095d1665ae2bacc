//! Personal tensors do not travel: each client trains its own, and keeps them from one assignment to the next.

use folkmoot_engine::{Trainer, evaluate};
use folkmoot_protocol::{AssignmentId, Loss, Work, messages::Assignment, update::HEADER_BYTES};
use folkmoot_training::FinishedWork;

use super::scene::{Scene, examples};
use crate::{
    storage::Keep,
    training::{prepare, work},
};

/// The model has a weight of four elements and a bias of two. The bias is personal.
fn personal() -> Scene {
    Scene::of(10, |plan| plan.training.personal = vec!["*bias*".into()])
}

/// Trains the next assignment, and stores its update.
fn train(scene: &mut Scene, number: u8) -> FinishedWork {
    let assignment_id = AssignmentId::from_random_bytes([number; 16]);
    scene.local.assignment = Assignment { assignment_id, ..scene.local.assignment.clone() };
    let (done, _) = scene.train();
    prepare(&done, &scene.local.work).unwrap();
    done
}

fn bias(weights: &[f32]) -> Vec<f32> {
    weights[weights.len() - 2..].to_vec()
}

#[test]
fn a_training_starts_with_what_the_one_before_has_left() {
    let mut scene = personal();
    let first = train(&mut scene, 1);
    let start = scene.model.initial_weights();
    let update = std::fs::metadata(scene.local.work.update_path(first.assignment.assignment_id)).unwrap();
    assert_eq!(update.len() as usize, HEADER_BYTES + 4 * 4, "the bias is not sent");
    let after = bias(&first.outcome.weights);
    assert!(after.iter().zip(bias(&start)).all(|(now, before)| *now != before));
    // Until the update was sent, a second attempt at the same assignment starts as the first did.
    assert_eq!(train(&mut scene, 1).outcome, first.outcome);
    assert!(scene.local.work.keep_own(first.assignment.assignment_id, true).unwrap());
    scene.local.models.reload();
    for models in [&scene.local.models, &scene.reopened_models()] {
        let newest = models.newest().unwrap().unwrap();
        assert_eq!(bias(&newest.weights), after, "the app predicts with the client's own bias");
        assert_eq!(newest.weights[..4], start[..4]);
    }
    let second = train(&mut scene, 2);
    // The engine, given the same start, gives the same weights.
    let whole = [&start[..4], &after].concat();
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let seed = second.assignment.assignment_id.seed();
    let mut trainer = Trainer::new(&scene.model, &whole, plan, &examples(10), seed).unwrap();
    while !trainer.step().unwrap().finished {}
    assert_eq!(trainer.finish().weights, second.outcome.weights);
}

#[test]
fn an_evaluation_measures_with_the_clients_own_and_leaves_nothing() {
    let mut trained = personal();
    let first = train(&mut trained, 1);
    let scene = Scene::of(10, |plan| {
        plan.training.personal = vec!["*bias*".into()];
        plan.work = Work::Evaluation;
    });
    let (id, task) = (first.assignment.assignment_id, first.assignment.task_id);
    let own = first.own.unwrap();
    scene.local.work.save_pending_own(id, task, &own, Keep::Sent).unwrap();
    scene.local.work.keep_own(id, true).unwrap();
    let done = work(&scene.local, |_| {}).unwrap().unwrap();
    let whole = [&scene.model.initial_weights()[..4], &bias(&first.outcome.weights)].concat();
    let expected = evaluate(&scene.model, &whole, &examples(10), Loss::SoftmaxCrossEntropy).unwrap();
    assert_eq!((done.outcome.metrics, done.own), (expected, None));
    assert_eq!(scene.local.work.own_tensors().load(task).unwrap(), Some(own));
}
