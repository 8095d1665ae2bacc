//! A client corrects its gradients by control variates, and keeps its own from one assignment to the next.

use std::time::Duration;

use folkmoot_engine::{Trainer, TrainingOutcome};
use folkmoot_protocol::{
    AssignmentId, DriftCorrection,
    messages::{AbortReason, Assignment},
};
use folkmoot_training::{FinishedWork, OwnTensors, StoredTraining, constant};

use super::scene::{Scene, examples};
use crate::training::prepare;

/// The control variate of all clients: one number for each of the model's six weights.
const SHARED: [f32; 6] = [0.5, -0.25, 0.125, 0.0, -0.5, 0.25];

fn scene(drift: DriftCorrection) -> Scene {
    Scene::of(10, |plan| {
        plan.drift_correction = Some(drift);
        plan.training.steps_max = Some(5);
        plan.training.epochs = 5;
    })
}

/// Trains the next assignment, and stores its update.
fn train(scene: &mut Scene, number: u8) -> FinishedWork {
    begin(scene, number);
    let (done, _) = scene.train();
    prepare(&done, &scene.local.work).unwrap();
    done
}

fn begin(scene: &mut Scene, number: u8) {
    let assignment_id = AssignmentId::from_random_bytes([number; 16]);
    scene.local.assignment = Assignment { assignment_id, ..scene.local.assignment.clone() };
}

/// Returns a trainer of the engine with this correction, after some steps of the scene's assignment.
fn trainer(scene: &Scene, correction: Option<&[f32]>, steps: u64) -> Trainer {
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let seed = scene.local.assignment.assignment_id.seed();
    let start = scene.model.initial_weights();
    let mut trainer = Trainer::new(&scene.model, &start, plan, &examples(10), seed).unwrap();
    if let Some(correction) = correction {
        trainer.set_gradient_correction(correction.to_vec()).unwrap();
    }
    trainer.advance(steps).unwrap();
    trainer
}

fn of_engine(scene: &Scene, correction: Option<&[f32]>) -> TrainingOutcome {
    trainer(scene, correction, 5).finish()
}

fn own(scene: &Scene, done: &FinishedWork) -> Option<OwnTensors> {
    let stored = scene.local.work.own_tensors().load(done.assignment.task_id).unwrap()?;
    let part = folkmoot_engine::TrainedPart::of(&scene.model, &scene.plan.training).unwrap();
    Some(OwnTensors::decode(&part, &stored))
}

#[test]
fn the_gradients_of_scaffold_are_corrected_by_the_difference_of_two_variates() {
    let mut scene = scene(DriftCorrection::Scaffold);
    let first = train(&mut scene, 1);
    assert_eq!(first.outcome.weights, of_engine(&scene, None).weights, "both variates are 0");
    let id = first.assignment.assignment_id;
    assert!(!scene.local.work.keep_own(id, false).unwrap(), "the update does not count");
    assert_eq!(own(&scene, &first), None);
    assert!(scene.local.work.keep_own(id, true).unwrap());
    let kept = own(&scene, &first).unwrap().control;
    // c is 0, so the client's own is −Δ/(K·r), with five steps of rate 0.01.
    let expected = first.outcome.delta.iter().map(|change| -change / 0.05);
    assert!(kept.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-5), "{kept:?}");
    scene.share_control_variate(&SHARED);
    let second = train(&mut scene, 2);
    let correction: Vec<f32> = SHARED.iter().zip(&kept).map(|(shared, own)| shared - own).collect();
    let expected = of_engine(&scene, Some(&correction));
    assert_eq!(second.outcome.weights, expected.weights);
    assert_ne!(second.outcome.weights, of_engine(&scene, None).weights);
}

#[test]
fn a_killed_training_goes_on_with_its_correction() {
    let fed_cm = DriftCorrection::FedCm { alpha: 0.5 };
    let fed_dc = DriftCorrection::FedDc { alpha: 0.5 };
    for drift in [DriftCorrection::Scaffold, DriftCorrection::FedDyn { alpha: 0.5 }, fed_dc, fed_cm] {
        let mut scene = scene(drift);
        let first = train(&mut scene, 1);
        scene.local.work.keep_own(first.assignment.assignment_id, true).unwrap();
        let downloaded = SHARED.repeat(drift.downloaded_values().max(1) as usize);
        scene.share_control_variate(&downloaded);
        begin(&mut scene, 2);
        let (whole, _) = scene.train();
        let shared = drift.downloads_control_variate().then_some(downloaded);
        let correction = own(&scene, &first).unwrap_or_default().correction(drift, shared);
        let correction = correction.map(|parts| constant(&parts, SHARED.len()));
        let mut killed = trainer(&scene, correction.as_deref(), 2);
        let checkpoint = killed.checkpoint();
        let stored =
            StoredTraining { trained: Duration::ZERO, personal: None, checkpoint: &checkpoint }.encode();
        scene.local.work.save_checkpoint(whole.assignment.assignment_id, &stored).unwrap();
        let (resumed, _) = scene.train();
        assert_eq!(resumed.outcome, whole.outcome, "{drift:?}");
        assert_eq!(resumed.own, whole.own, "{drift:?}");
    }
}

#[test]
fn a_damaged_variate_is_0_and_one_of_the_wrong_size_ends_the_work() {
    let mut scene = scene(DriftCorrection::FedDyn { alpha: 0.5 });
    let first = train(&mut scene, 1);
    let (id, task) = (first.assignment.assignment_id, first.assignment.task_id);
    let work = scene.local.work.clone();
    work.save_pending_own(id, task, b"FMPERS\x00\x02 and nothing else", crate::storage::Keep::Accepted)
        .unwrap();
    work.keep_own(id, true).unwrap();
    let second = train(&mut scene, 2);
    assert_eq!(second.outcome.weights, of_engine(&scene, None).weights);
    scene.share_control_variate(&SHARED[1..]);
    begin(&mut scene, 3);
    let error = crate::training::work(&scene.local, |_| {}).unwrap_err();
    assert_eq!(error.reason, AbortReason::FetchFailed);
}
