//! The app's own loop: its inputs, and the processing of its result like the engine's.

use std::sync::{Arc, atomic::Ordering};

use folkmoot_engine::{ExamplePrivacy, Metrics};
use folkmoot_protocol::{
    Work,
    messages::AbortReason,
    update::{HEADER_BYTES, UpdateHeader},
};
use folkmoot_training::Trained;
use folkmoot_work::WorkError;

use super::scene::Scene;
use crate::training::{LocalTrainer, TrainerError, TrainerWork, prepare, work};

/// Adds the tensor's number, from 1, to every weight.
struct AddsOnes {
    metrics: Metrics,
    weights_missing: usize,
}

impl Default for AddsOnes {
    fn default() -> Self {
        let metrics = Metrics { example_count: 30, loss_sum: 15.0, correct_count: 9, step_count: 3 };
        Self { metrics, weights_missing: 0 }
    }
}

impl LocalTrainer for AddsOnes {
    fn example_count(&self) -> u64 {
        self.metrics.example_count
    }

    fn train(&self, work: &TrainerWork<'_>) -> Result<Trained, TrainerError> {
        let numbers = work.tensors().iter().zip(1u8..);
        let steps = numbers.flat_map(|(tensor, number)| vec![f32::from(number); tensor.element_count()]);
        let mut weights: Vec<f32> =
            work.weights().iter().zip(steps).map(|(weight, step)| weight + step).collect();
        weights.truncate(weights.len() - self.weights_missing);
        Ok(Trained { weights, metrics: self.metrics })
    }

    fn evaluate(&self, _: &TrainerWork<'_>) -> Result<Option<Metrics>, TrainerError> {
        Ok((self.weights_missing == 0).then_some(self.metrics))
    }
}

struct Fails;

impl LocalTrainer for Fails {
    fn example_count(&self) -> u64 {
        1
    }

    fn train(&self, _: &TrainerWork<'_>) -> Result<Trained, TrainerError> {
        Err(TrainerError("the diary of 3 March".into()))
    }
}

fn with(mut scene: Scene, trainer: impl LocalTrainer + 'static) -> Scene {
    scene.local.trainer = Some(Arc::new(trainer));
    scene
}

fn refused(scene: &Scene) -> WorkError {
    work(&scene.local, |_| {}).unwrap_err()
}

fn header(scene: &Scene) -> (Vec<u8>, UpdateHeader) {
    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    prepare(&done, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(done.assignment.assignment_id)).unwrap();
    let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    (bytes, header)
}

#[test]
fn what_the_loop_returns_becomes_an_update() {
    let scene = with(Scene::new(1, None), AddsOnes::default());
    let (bytes, header) = header(&scene);
    assert_eq!((header.weight, header.metrics.example_count, header.metrics.step_count), (30, 30, 3));
    let values: Vec<f32> =
        bytes[HEADER_BYTES..].as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    // Four weights and two biases, which start at magnitude 1.
    let expected = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0];
    assert_eq!(values.len(), expected.len());
    assert!(
        values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-6),
        "{values:?}"
    );
}

#[test]
fn the_update_of_a_loop_is_clipped_as_the_engines_is() {
    let mut scene = with(Scene::new(1, None), AddsOnes::default());
    scene.local.assignment.clipping_norm = Some(1 << 27);
    let (bytes, _) = header(&scene);
    let square = |value: &[u8; 4]| f64::from(f32::from_le_bytes(*value)).powi(2);
    let norm = bytes[HEADER_BYTES..].as_chunks().0.iter().map(square).sum::<f64>().sqrt();
    assert!((0.499..=0.5).contains(&norm), "{norm}");
}

#[test]
fn what_a_plan_freezes_stays_whatever_the_loop_does() {
    let scene = Scene::of(10, |plan| plan.training.frozen = vec!["*bias*".into()]);
    let names: Vec<_> = scene.model.parameters().iter().map(|tensor| tensor.name.clone()).collect();
    assert!(names[1].contains("bias"), "{names:?}");
    let scene = with(scene, AddsOnes::default());
    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    assert_eq!(done.outcome.delta.len(), 4, "frozen tensors do not travel");
    assert!(done.outcome.delta.iter().all(|value| *value > 0.9));
}

#[test]
fn what_does_not_fit_ends_the_work() {
    let metrics = AddsOnes::default().metrics;
    let faults = [
        (AddsOnes { weights_missing: 1, metrics }, "returned 5 weights"),
        (
            AddsOnes { metrics: Metrics { example_count: 0, ..metrics }, weights_missing: 0 },
            "example_count 0",
        ),
        (AddsOnes { metrics: Metrics { loss_sum: f64::NAN, ..metrics }, weights_missing: 0 }, "not finite"),
        (AddsOnes { metrics: Metrics { correct_count: 31, ..metrics }, weights_missing: 0 }, "more correct"),
    ];
    for (trainer, word) in faults {
        let error = refused(&with(Scene::new(1, None), trainer));
        assert_eq!(error.reason, AbortReason::TrainingFailed);
        assert!(error.detail.contains(word), "{}", error.detail);
    }
}

#[test]
fn the_words_of_a_loop_that_fails_stay_here() {
    let error = refused(&with(Scene::new(1, None), Fails));
    assert_eq!(error.reason, AbortReason::TrainingFailed);
    assert!(!error.detail.contains("diary") && error.detail.contains("log"), "{}", error.detail);
}

#[test]
fn the_engine_alone_vouches_for_example_privacy() {
    let scene = Scene::of(10, |plan| {
        let privacy = ExamplePrivacy { noise_multiplier: 1.0 };
        plan.training.example_privacy = Some(privacy);
    });
    let error = refused(&with(scene, AddsOnes::default()));
    assert_eq!(error.reason, AbortReason::PlanUnsupported);
}

#[test]
fn a_loop_that_is_stopped_has_trained_nothing() {
    let scene = with(Scene::new(1, None), AddsOnes::default());
    scene.local.stop.store(true, Ordering::Relaxed);
    assert!(work(&scene.local, |_| {}).unwrap().is_none());
}

#[test]
fn a_loop_measures_or_leaves_it_to_the_engine() {
    let evaluation = || Scene::of(10, |plan| plan.work = Work::Evaluation);
    let (bytes, own) = header(&with(evaluation(), AddsOnes::default()));
    assert_eq!((bytes.len(), own.weight, own.metrics.correct_count), (HEADER_BYTES, 30, 9));
    assert_eq!(own.metrics.step_count, 0);
    let metrics = AddsOnes::default().metrics;
    let (_, engines) = header(&with(evaluation(), AddsOnes { metrics, weights_missing: 1 }));
    assert_eq!((engines.weight, engines.metrics.example_count), (10, 10));
}

#[test]
fn the_newest_model_predicts_also_after_a_restart() {
    let scene = with(Scene::new(1, None), AddsOnes::default());
    assert!(scene.local.models.newest().unwrap().is_none());
    work(&scene.local, |_| {}).unwrap();
    let again = scene.reopened_models();
    for models in [&scene.local.models, &again] {
        let newest = models.newest().unwrap().expect("the assignment brought it");
        assert_eq!((newest.version, &newest.weights), (2, &scene.model.initial_weights()));
        let outputs = newest.predict(&[1.0, -1.0], 1).unwrap();
        assert_eq!(outputs, scene.model.predict(&newest.weights, &[1.0, -1.0], 1).unwrap());
        assert!(newest.predict(&[1.0], 1).is_err());
    }
    again.clear();
    assert!(again.newest().unwrap().is_none());
}
