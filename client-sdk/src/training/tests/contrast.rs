//! A client keeps the end of its last training, and contrasts the next one with it, also after it was killed.

use std::time::Duration;

use folkmoot_engine::{ModelContrast, block_on};
use folkmoot_training::{OwnTensors, Training};

use super::{
    phases::{begin, stopped, train},
    scene::{Scene, examples},
};
use crate::training::{LocalWork, load::load_inputs};

fn scene() -> Scene {
    Scene::of(10, |plan| {
        plan.training.epochs = 2;
        let contrast = ModelContrast { features: "logits".into(), weight: 5.0, temperature: 0.5 };
        plan.training.model_contrast = Some(Box::new(contrast));
    })
}

#[test]
fn a_killed_training_goes_on_with_the_last_local_model() {
    let mut scene = scene();
    let first = train(&mut scene, 1);
    begin(&mut scene, 2);
    let (whole, _) = scene.train();
    let LocalWork { assignment, blobs, budget, host, .. } = &scene.local;
    let kept = scene.local.work.own_tensors().load(assignment.task_id).unwrap();
    let inputs = load_inputs(assignment, kept.as_deref(), blobs, budget, host.now()).unwrap();
    assert_eq!(inputs.replica.as_ref(), Some(&first.outcome.weights), "the end of the training before");
    let (step, bytes) = stopped(&inputs, assignment, 4);
    let end = |inputs| {
        let mut resumed = Training::begin(inputs, assignment, &examples(10), Some(&bytes)).unwrap();
        assert_eq!(resumed.progress().step, step);
        while !resumed.progress().finished {
            block_on(resumed.advance(&|| Duration::ZERO)).unwrap();
        }
        resumed.finish()
    };
    assert_eq!(end(&inputs), whole.outcome);
    let forgetful = load_inputs(assignment, None, blobs, budget, host.now()).unwrap();
    assert_ne!(end(&forgetful).weights, whole.outcome.weights, "the last local model counts");
    // The end of this training is kept for the next one.
    let next = OwnTensors::decode(inputs.part(), whole.own.as_deref().unwrap());
    assert_eq!(next.replica, inputs.part().pick(&whole.outcome.weights).unwrap());
    scene.local.work.forget_all_tasks().unwrap();
    assert_eq!(scene.local.work.own_tensors().load(scene.local.assignment.task_id).unwrap(), None);
}
