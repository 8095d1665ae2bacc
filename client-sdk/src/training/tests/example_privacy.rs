//! A plan with example privacy, from training to the update.

use folkmoot_engine::{ExamplePrivacy, GradientClipping};
use folkmoot_protocol::{
    Plan, Work,
    messages::AbortReason,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_training::FinishedWork;

use super::scene::Scene;
use crate::training::{prepare, work};

fn private(plan: &mut Plan) {
    plan.training.gradient_clipping = Some(GradientClipping::PerExampleNorm(0.5));
    plan.training.example_privacy = Some(ExamplePrivacy { noise_multiplier: 2.0 });
}

/// A training of 5 epochs in batches of 2 of 10 examples: 25 steps.
fn scene() -> Scene {
    Scene::of(10, |plan| {
        plan.training.epochs = 5;
        private(plan);
    })
}

/// The update that a coordinator receives for this work.
fn sent(scene: &Scene, finished: &FinishedWork) -> (UpdateHeader, Vec<f32>) {
    prepare(finished, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(finished.assignment.assignment_id)).unwrap();
    let values = bytes[HEADER_BYTES..].as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value));
    (UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap(), values.collect())
}

#[test]
fn nothing_that_was_measured_is_sent() {
    let scene = scene();
    let (finished, progress) = scene.train();
    assert_eq!((progress.step, progress.steps_total, progress.finished), (25, 25, true));
    let (header, values) = sent(&scene, &finished);
    assert_eq!(header.metrics, UpdateMetrics::default());
    assert_eq!(
        header.weight, 10,
        "the number of examples that the client holds, not of those that were drawn"
    );
    assert!(values.iter().any(|value| *value != 0.0));
}

#[test]
fn the_same_assignment_gives_another_update() {
    let [first, second] = [0; 2].map(|_| {
        let scene = scene();
        let (finished, _) = scene.train();
        sent(&scene, &finished).1
    });
    // Two draws of one value are equal about once in two million runs, so one of six may be.
    let equal = first.iter().zip(&second).filter(|(first, second)| first == second).count();
    assert!(equal <= 1, "{first:?} {second:?}");
}

#[test]
fn the_update_is_as_far_as_the_noise_goes() {
    const TRAININGS: u32 = 100;
    let squares: f64 = (0..TRAININGS)
        .map(|_| {
            let scene = Scene::of(10, |plan| {
                plan.training.epochs = 5;
                private(plan);
                // Compared with this noise, the gradients are negligible.
                plan.training.example_privacy = Some(ExamplePrivacy { noise_multiplier: 1000.0 });
            });
            let (finished, _) = scene.train();
            finished.outcome.delta.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / 6.0
        })
        .sum();
    // 25 steps; each has the learning rate times the noise multiplier times the norm, divided by the batch size.
    let expected = 25.0 * (0.01f64 * 1000.0 * 0.5 / 2.0).powi(2);
    let (found, values) = (squares / f64::from(TRAININGS), f64::from(6 * TRAININGS));
    // Nine standard deviations of the mean of 600 squares: fewer than one in 10^13 runs is outside.
    assert!((found / expected - 1.0).abs() < 9.0 * (2.0 / values).sqrt(), "{found}, not {expected}");
}

#[test]
fn a_training_is_resumed_with_new_chance() {
    let scene = scene();
    scene.leave_checkpoint(7, std::time::Duration::ZERO);
    let (finished, progress) = scene.train();
    assert_eq!((progress.step, finished.outcome.metrics.step_count), (25, 25));
}

#[test]
fn an_evaluation_is_refused() {
    let scene = Scene::of(10, |plan| {
        plan.work = Work::Evaluation;
        private(plan);
    });
    let error = work(&scene.local, |_| {}).unwrap_err();
    assert_eq!(error.reason, AbortReason::PlanUnsupported);
    assert!(error.detail.contains("example_privacy"), "{}", error.detail);
}
