//! A personal training comes before the training of the shared weights, or shares its steps.

use std::{sync::atomic::Ordering, time::Duration};

use folkmoot_engine::{PersonalTraining, TrainedPart, Trainer, TrainingOutcome, block_on};
use folkmoot_protocol::{AssignmentId, messages::Assignment};
use folkmoot_training::{FinishedWork, Inputs, OwnTensors, StoredTraining, Training};

use super::scene::{Scene, examples};
use crate::training::{LocalWork, load::load_inputs, prepare};

const DITTO: PersonalTraining = PersonalTraining::Ditto { lambda: 0.5, epochs: 3 };
const FED_REP: PersonalTraining = PersonalTraining::FedRep { epochs: 3 };

const P_FED_ME: PersonalTraining = PersonalTraining::PFedMe { lambda: 2.0, learning_rate: 0.25, steps: 3 };
const APFL: PersonalTraining = PersonalTraining::Apfl { alpha: 0.25, adaptive: true };

/// A plan of five steps per epoch: three epochs of the personal training, and two for the shared weights.
fn scene(personal: PersonalTraining) -> Scene {
    scene_within(personal, None)
}

fn scene_within(personal: PersonalTraining, time_limit_seconds: Option<f32>) -> Scene {
    Scene::of(10, |plan| {
        plan.training.epochs = 2;
        plan.training.time_limit_seconds = time_limit_seconds;
        plan.training.personal_training = Some(personal);
        if !personal.is_whole_model() {
            plan.training.personal = vec!["*bias*".into()];
        }
    })
}

pub(super) fn begin(scene: &mut Scene, number: u8) {
    let assignment_id = AssignmentId::from_random_bytes([number; 16]);
    scene.local.assignment = Assignment { assignment_id, ..scene.local.assignment.clone() };
}

/// Trains the next assignment, and keeps the state that it leaves for the task.
pub(super) fn train(scene: &mut Scene, number: u8) -> FinishedWork {
    begin(scene, number);
    let (done, _) = scene.train();
    prepare(&done, &scene.local.work).unwrap();
    assert!(scene.local.work.keep_own(done.assignment.assignment_id, true).unwrap());
    scene.local.models.reload();
    done
}

/// Returns the engine's trainer for the personal training, for the scene's assignment.
fn personal(scene: &Scene, own: Option<&[f32]>) -> Trainer {
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let seed = scene.local.assignment.assignment_id.seed();
    Trainer::new_personal(&scene.model, &scene.model.initial_weights(), own, plan, &examples(10), seed)
        .unwrap()
}

/// Returns the engine's trainer of the shared weights.
fn shared(scene: &Scene, start: &[f32]) -> Trainer {
    let plan = scene.local.budget.lower(scene.plan.clone()).training;
    let seed = scene.local.assignment.assignment_id.seed();
    Trainer::new(&scene.model, start, plan, &examples(10), seed).unwrap()
}

/// Returns the engine's outcome of two models in the same steps, for the scene's assignment.
fn beside(scene: &Scene, own: Option<&[f32]>, share: Option<f32>) -> TrainingOutcome {
    let mut trainer = shared(scene, &scene.model.initial_weights());
    trainer.begin_own(own, share).unwrap();
    while !trainer.step().unwrap().finished {}
    trainer.finish()
}

fn to_the_end(mut trainer: Trainer) -> Vec<f32> {
    while !trainer.step().unwrap().finished {}
    trainer.weights().to_vec()
}

#[test]
fn a_model_of_ones_own_is_trained_kept_and_used_to_predict() {
    let mut scene = scene(DITTO);
    let start = scene.model.initial_weights();
    let first = train(&mut scene, 1);
    let own = to_the_end(personal(&scene, None));
    assert_eq!(first.outcome.own_weights, own);
    assert_eq!(first.outcome.weights, to_the_end(shared(&scene, &start)), "the update is that of FedAvg");
    for models in [&scene.local.models, &scene.reopened_models()] {
        assert_eq!(models.newest().unwrap().unwrap().weights, own, "the app predicts with its own model");
    }
    let second = train(&mut scene, 2);
    assert_eq!(second.outcome.own_weights, to_the_end(personal(&scene, Some(&own))));
    assert_ne!(second.outcome.own_weights, to_the_end(personal(&scene, None)));
    assert_eq!(second.outcome.weights, to_the_end(shared(&scene, &start)));
}

#[test]
fn fed_rep_trains_the_head_and_then_the_body() {
    let mut scene = scene(FED_REP);
    let start = scene.model.initial_weights();
    let (done, progress) = (train(&mut scene, 1), scene.train().1);
    assert_eq!((progress.step, progress.steps_total, progress.finished), (25, 25, true));
    let between = to_the_end(personal(&scene, None));
    assert_eq!(done.outcome.weights, to_the_end(shared(&scene, &between)));
    assert_eq!(between[..4], start[..4]);
    assert_eq!(done.outcome.weights[4..], between[4..], "the bias was trained first, and then fixed");
    assert_eq!(done.outcome.metrics.step_count, 10, "an update is weighed by the steps of what travels");
    let newest = scene.local.models.newest().unwrap().unwrap();
    assert_eq!(newest.weights[4..], between[4..]);
}

#[test]
fn a_killed_training_goes_on_in_either_phase() {
    for kind in [DITTO, FED_REP] {
        let mut scene = scene(kind);
        begin(&mut scene, 2);
        let (whole, _) = scene.train();
        let between = to_the_end(personal(&scene, None));
        let start = if kind == FED_REP { between.clone() } else { scene.model.initial_weights() };
        let first = (personal(&scene, None), None);
        for (mut killed, personal) in [first, (shared(&scene, &start), Some(between))] {
            killed.advance(4).unwrap();
            let checkpoint = killed.checkpoint();
            let trained = Duration::ZERO;
            let personal = personal.map(Into::into);
            let stored = StoredTraining { trained, personal, checkpoint: &checkpoint }.encode();
            scene.local.work.save_checkpoint(whole.assignment.assignment_id, &stored).unwrap();
            let (resumed, progress) = scene.train();
            assert_eq!(resumed.outcome, whole.outcome, "{kind:?}");
            assert_eq!((resumed.own, progress.step), (whole.own.clone(), 25), "{kind:?}");
        }
    }
}

/// Stops a training after some steps, and returns the progress and the bytes that it stores.
pub(super) fn stopped(inputs: &Inputs, assignment: &Assignment, steps: u64) -> (u64, Vec<u8>) {
    let mut training = Training::begin(inputs, assignment, &examples(10), None).unwrap();
    while training.progress().step < steps {
        block_on(training.advance(&|| Duration::ZERO)).unwrap();
    }
    (training.progress().step, training.checkpoint(Duration::ZERO))
}

#[test]
fn a_training_goes_on_from_its_own_bytes_and_repeats_no_step() {
    for kind in [DITTO, FED_REP] {
        let mut scene = scene(kind);
        begin(&mut scene, 2);
        let (whole, _) = scene.train();
        let LocalWork { assignment, blobs, budget, host, .. } = &scene.local;
        let inputs = load_inputs(assignment, None, blobs, budget, host.now()).unwrap();
        for steps in [4, 17] {
            let (step, bytes) = stopped(&inputs, assignment, steps);
            let mut resumed = Training::begin(&inputs, assignment, &examples(10), Some(&bytes)).unwrap();
            assert_eq!(resumed.progress().step, step, "{kind:?}");
            while !resumed.progress().finished {
                block_on(resumed.advance(&|| Duration::ZERO)).unwrap();
            }
            assert_eq!(resumed.finish(), whole.outcome, "{kind:?}");
        }
    }
}

#[test]
fn two_models_are_trained_in_the_same_steps_and_survive_a_kill() {
    for (kind, steps) in [(P_FED_ME, 30), (APFL, 10)] {
        let mut scene = scene(kind);
        let start = scene.model.initial_weights();
        let first = train(&mut scene, 1);
        assert_eq!(first.outcome, beside(&scene, None, None), "{kind:?}");
        begin(&mut scene, 2);
        let (whole, progress) = scene.train();
        assert_eq!((progress.step, progress.steps_total, progress.finished), (steps, steps, true));
        let own = first.outcome.own_share.map(|_| first.outcome.own_weights.as_slice());
        let again = beside(&scene, own, first.outcome.own_share);
        assert_eq!(whole.outcome, again, "a client goes on from its own model");
        // Killed in the middle, the client resumes from the stored bytes.
        let LocalWork { assignment, blobs, budget, host, .. } = &scene.local;
        let kept = scene.local.work.own_tensors().load(assignment.task_id).unwrap();
        let inputs = load_inputs(assignment, kept.as_deref(), blobs, budget, host.now()).unwrap();
        let (step, bytes) = stopped(&inputs, assignment, 4);
        let mut resumed = Training::begin(&inputs, assignment, &examples(10), Some(&bytes)).unwrap();
        assert_eq!(resumed.progress().step, step, "{kind:?}");
        while !resumed.progress().finished {
            block_on(resumed.advance(&|| Duration::ZERO)).unwrap();
        }
        assert_eq!(resumed.finish(), whole.outcome, "{kind:?}");
        let newest = scene.reopened_models().newest().unwrap().unwrap().weights.clone();
        let predicting = match first.outcome.own_share {
            None => first.outcome.own_weights.clone(),
            Some(share) => {
                let pairs = start.iter().zip(&first.outcome.own_weights);
                pairs.map(|(shared, own)| shared + share * (own - shared)).collect()
            }
        };
        assert_eq!(newest, predicting, "{kind:?}");
        scene.local.work.forget_all_tasks().unwrap();
        assert_eq!(scene.local.work.own_tensors().load(scene.local.assignment.task_id).unwrap(), None);
    }
}

#[test]
fn a_checkpoint_of_the_wrong_phase_is_not_used() {
    let mut scene = scene(DITTO);
    begin(&mut scene, 1);
    let (whole, _) = scene.train();
    let mut killed = personal(&scene, None);
    killed.advance(4).unwrap();
    let (trained, checkpoint) = (Duration::ZERO, killed.checkpoint());
    let personal = Some(vec![9.0; 6].into());
    let stored = StoredTraining { trained, personal, checkpoint: &checkpoint }.encode();
    scene.local.work.save_checkpoint(whole.assignment.assignment_id, &stored).unwrap();
    assert_eq!(scene.train().0.outcome, whole.outcome);
}

#[test]
fn an_early_end_comes_after_a_step_of_the_shared_tensors() {
    for kind in [DITTO, FED_REP] {
        let scene = scene_within(kind, Some(0.001));
        assert_eq!(scene.train().0.outcome.metrics.step_count, 1, "{kind:?}");
        let asked = self::scene(kind);
        asked.local.asked.store(true, Ordering::Relaxed);
        let (done, progress) = asked.train();
        assert_eq!((done.outcome.metrics.step_count, progress.step), (1, 2), "{kind:?}");
        let part = TrainedPart::of(&asked.model, &asked.plan.training).unwrap();
        assert!(!OwnTensors::decode(&part, &done.own.unwrap()).is_empty());
    }
}
