//! Frozen tensors do not travel: the client has them from the model's file.

use folkmoot_protocol::{
    messages::AbortReason,
    update::{HEADER_BYTES, UpdateHeader},
};
use folkmoot_training::{schema_of, travelling};

use super::scene::Scene;
use crate::training::prepare;

fn frozen() -> Scene {
    Scene::of(10, |plan| plan.training.frozen = vec!["*bias*".into()])
}

#[test]
fn only_what_is_trained_is_fetched_and_sent() {
    let scene = frozen();
    assert_eq!((scene.model.parameter_count(), scene.local.assignment.weights.bytes), (6, 4 * 4));
    let (done, _) = scene.train();
    prepare(&done, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(done.assignment.assignment_id)).unwrap();
    let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    assert_eq!((header.element_count, bytes.len()), (4, HEADER_BYTES + 4 * 4));
    assert_eq!(header.schema_digest, scene.plan.schema.digest());
    assert!(bytes[HEADER_BYTES..].as_chunks().0.iter().all(|value| f32::from_le_bytes(*value) != 0.0));
}

#[test]
fn the_model_to_predict_with_is_whole() {
    let scene = frozen();
    scene.train();
    for models in [&scene.local.models, &scene.reopened_models()] {
        assert_eq!(models.newest().unwrap().unwrap().weights, scene.model.initial_weights());
    }
}

#[test]
fn a_plan_whose_schema_is_not_of_what_it_trains_is_refused() {
    let mut plan = frozen().plan;
    let model = frozen().model;
    assert!(travelling(&plan, &model).is_ok());
    // The schema of all parameters, as sent by a coordinator that does not leave out frozen tensors.
    plan.schema = schema_of(&model);
    let error = travelling(&plan, &model).unwrap_err();
    assert_eq!(error.reason, AbortReason::PlanUnsupported);
    assert!(error.detail.contains("schema"), "{}", error.detail);
}
