//! A client of a clustered task measures the model of each cluster, and trains the one that fits its examples best.

use std::sync::atomic::Ordering;

use folkmoot_engine::{Trainer, Travelling, evaluate};
use folkmoot_protocol::{AssignmentId, Clusters, Work, messages::Assignment};
use folkmoot_training::{OwnTensors, StoredTraining};

use super::scene::{Scene, examples};
use crate::{
    storage::Keep,
    training::{prepare, work},
};

const CLUSTERS: usize = 4;

/// The model has a weight of four elements and a bias of two. Each cluster has its own weight and bias.
fn clustered(work: Work) -> Scene {
    Scene::of(10, |plan| {
        plan.work = work;
        plan.training.clusters =
            Some(Box::new(Clusters { count: 4, tensors: Vec::new(), start_spread: 2.0 }));
    })
}

/// Returns the weights of each cluster in the scene's version, and the one with the smallest loss on these examples.
fn best(scene: &Scene) -> (Vec<Vec<f32>>, usize) {
    let travelling = Travelling::of(&scene.model, &scene.plan.training).unwrap();
    let values = travelling.starting(&scene.model.initial_weights(), 1).unwrap();
    let weights = |cluster| travelling.fill(values.clone(), Some(cluster)).unwrap();
    let weights: Vec<Vec<f32>> = (0..CLUSTERS).map(weights).collect();
    let loss = |weights: &Vec<f32>| {
        evaluate(&scene.model, weights, &examples(10), scene.plan.training.loss).unwrap().loss_sum
    };
    let losses: Vec<f64> = weights.iter().map(loss).collect();
    let best = (0..CLUSTERS).min_by(|one, other| losses[*one].total_cmp(&losses[*other])).unwrap();
    assert!(best > 0, "the test would not notice a client that chooses nothing: {losses:?}");
    (weights, best)
}

#[test]
fn the_update_is_of_the_cluster_with_the_smallest_loss() {
    let scene = clustered(Work::Training);
    let (weights, best) = best(&scene);
    let (done, _) = scene.train();
    // The engine, given the start of that cluster, gives the same delta.
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let seed = done.assignment.assignment_id.seed();
    let mut trainer = Trainer::new(&scene.model, &weights[best], plan, &examples(10), seed).unwrap();
    while !trainer.step().unwrap().finished {}
    let delta = trainer.finish().delta;
    let mut expected = vec![0.0; CLUSTERS + CLUSTERS * 6];
    expected[best] = 1.0;
    expected[CLUSTERS + best * 6..][..6].copy_from_slice(&delta);
    assert_eq!(done.outcome.delta, expected);
    // Once the update was sent, the app predicts with the model of that cluster.
    let start = scene.local.models.newest().unwrap().unwrap();
    assert_eq!(start.weights, weights[0], "of equal shares, the first");
    prepare(&done, &scene.local.work).unwrap();
    assert!(scene.local.work.keep_own(done.assignment.assignment_id, true).unwrap());
    scene.local.models.reload();
    for models in [&scene.local.models, &scene.reopened_models()] {
        assert_eq!(models.newest().unwrap().unwrap().weights, weights[best]);
    }
}

#[test]
fn a_training_that_was_stopped_continues_in_its_cluster() {
    let mut scene = clustered(Work::Training);
    let assignment_id = AssignmentId::from_random_bytes([7; 16]);
    scene.local.assignment = Assignment { assignment_id, ..scene.local.assignment.clone() };
    let (whole, _) = scene.train();
    let (weights, best) = best(&scene);
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let mut trainer =
        Trainer::new(&scene.model, &weights[best], plan, &examples(10), assignment_id.seed()).unwrap();
    trainer.advance(2).unwrap();
    let checkpoint = trainer.checkpoint();
    let stored =
        StoredTraining { trained: std::time::Duration::ZERO, personal: None, checkpoint: &checkpoint };
    scene.local.work.save_checkpoint(assignment_id, &stored.encode()).unwrap();
    let (resumed, progress) = scene.train();
    assert_eq!((resumed.outcome.delta, progress.step), (whole.outcome.delta, 5));
}

#[test]
fn an_evaluation_measures_the_best_cluster() {
    let scene = clustered(Work::Evaluation);
    let (weights, best) = best(&scene);
    let done = work(&scene.local, |_| {}).unwrap().unwrap();
    let expected = evaluate(&scene.model, &weights[best], &examples(10), scene.plan.training.loss).unwrap();
    assert_eq!((done.outcome.metrics, done.own), (expected, None));
    assert!(done.outcome.delta.is_empty());
}

#[test]
fn an_evaluation_by_a_client_with_a_cluster_measures_that_one() {
    let scene = clustered(Work::Evaluation);
    let (weights, best) = best(&scene);
    let kept = (best + 1) % CLUSTERS;
    let own = OwnTensors { cluster: Some(kept), ..OwnTensors::default() };
    let travelling = Travelling::of(&scene.model, &scene.plan.training).unwrap();
    let (id, task) = (scene.local.assignment.assignment_id, scene.local.assignment.task_id);
    let bytes = own.encode(travelling.part()).unwrap();
    scene.local.work.save_pending_own(id, task, &bytes, Keep::Sent).unwrap();
    scene.local.work.keep_own(id, true).unwrap();
    let done = work(&scene.local, |_| {}).unwrap().unwrap();
    let expected = evaluate(&scene.model, &weights[kept], &examples(10), scene.plan.training.loss).unwrap();
    assert_eq!(done.outcome.metrics, expected);
}

#[test]
fn the_choice_can_be_stopped() {
    let scene = clustered(Work::Training);
    scene.local.stop.store(true, Ordering::Relaxed);
    assert!(work(&scene.local, |_| {}).unwrap().is_none());
}
