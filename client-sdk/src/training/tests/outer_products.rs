//! Outer products are recorded if the recipe uses them, and sent if they are short.

use std::time::Duration;

use folkmoot_engine::{
    Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, TrainingOutcome, TrainingPlan, block_on,
    onnx::build::mlp,
};
use folkmoot_protocol::{
    BlobDigest, LocalNoise, Plan, Recipe, TensorSchema, TensorSpec,
    messages::{Artifact, Assignment},
    update::HEADER_BYTES,
};
use folkmoot_training::{FinishedWork, Inputs, Training, make};
use folkmoot_update::codec::decode;
use folkmoot_work::samples;

use crate::Budget;

const FEATURES: usize = 64;
const CLASSES: usize = 4;

/// A training with this many batches of four examples, at a usual learning rate.
fn plan(onnx: &[u8], model: &Model, steps: u32) -> Plan {
    let training = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.01));
    Plan {
        model: BlobDigest::of(onnx),
        schema: TensorSchema { tensors: model.parameters().iter().map(TensorSpec::from).collect() },
        training: TrainingPlan { batch_size: 4, steps_max: Some(steps), ..training },
        ..samples::plan()
    }
}

fn examples() -> Examples {
    let features =
        (0..20 * FEATURES).map(|index| ((index * 7919 + 13) % 1009) as f32 / 500.0 - 1.0).collect();
    let labels = Labels::Classes((0..20).map(|row| row % CLASSES as u32).collect());
    Examples::new(features, vec![FEATURES], labels).unwrap()
}

/// Trains as a client does, after changing plan and assignment.
fn train(steps: u32, codec: Option<&str>, change: impl FnOnce(&mut Plan, &mut Assignment)) -> FinishedWork {
    let onnx = mlp(&[FEATURES, 48, CLASSES], 1);
    let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
    let weights: Vec<u8> = model.initial_weights().into_iter().flat_map(f32::to_le_bytes).collect();
    let artifact = |bytes: &[u8]| Artifact { digest: BlobDigest::of(bytes), bytes: bytes.len() as u64 };
    let mut plan = plan(&onnx, &model, steps);
    let mut assignment =
        Assignment { model: artifact(&onnx), weights: artifact(&weights), ..samples::assignment() };
    assignment.recipe = codec.map(|codec| Box::new(Recipe::of(codec.parse().unwrap())));
    change(&mut plan, &mut assignment);
    let read = |one| Ok(if one == assignment.model { onnx.clone() } else { weights.clone() });
    let inputs = Inputs::of(&assignment, plan, None, &Budget::default(), read).unwrap();
    let mut training = Training::begin(&inputs, &assignment, &examples(), None).unwrap();
    while !block_on(training.advance(&|| Duration::ZERO)).unwrap().is_over {}
    let outcome = training.finish();
    FinishedWork { assignment, plan: inputs.plan, outcome, held_example_count: 20, own: None }
}

fn recorded(outcome: &TrainingOutcome) -> usize {
    outcome.products.iter().flatten().count()
}

#[test]
fn a_few_small_batches_are_sent_as_their_outer_products() {
    let bytes = |steps, codec| {
        let finished = train(steps, codec, |_, _| {});
        let bytes = make(&finished, None).unwrap().bytes;
        if codec.is_some() {
            let arriving = decode(&finished.plan.schema, &bytes[HEADER_BYTES..]).unwrap();
            let apart = arriving.iter().zip(&finished.outcome.delta).map(|(one, other)| (one - other).abs());
            // In each step, a weight of up to 1 is rounded by up to 2^-25, and so is the difference.
            assert!(apart.fold(0.0, f32::max) <= (steps + 2) as f32 * 2f32.powi(-25));
        }
        bytes.len()
    };
    let codec = Some("sufficient_factors:8,error=0.0");
    let floats = bytes(1, None);
    let (one_step, two_steps, many) = (bytes(1, codec), bytes(2, codec), bytes(5, codec));
    // The first layer has 48 by 64 weights. A batch of four examples gives 4 products in one step and 8 in two steps.
    // Five steps give 20, but the recipe allows only 8.
    assert!(one_step + 4 * (48 * 64 - 4 * (48 + 64)) <= floats + 64, "{one_step} of {floats}");
    assert!(
        two_steps > one_step && two_steps + 4 * (48 * 64 - 8 * (48 + 64)) <= floats + 64,
        "{two_steps} of {floats}"
    );
    assert!(many > floats / 2 && many <= floats + 64, "{many} of {floats}");
}

#[test]
fn nothing_is_recorded_that_is_not_sent() {
    let codec = Some("sufficient_factors:8");
    assert_eq!(
        recorded(&train(1, codec, |_, _| {}).outcome),
        1,
        "four products are no shorter than the second layer"
    );
    for other in [None, Some("eden:4"), Some("low_rank:4")] {
        assert_eq!(recorded(&train(1, other, |_, _| {}).outcome), 0, "{other:?}");
    }
    // Clipping and noise change the update but not the products.
    assert_eq!(
        recorded(&train(1, codec, |_, assignment| assignment.clipping_norm = Some(1 << 20)).outcome),
        0
    );
    let noise = LocalNoise { clipping_norm: 1 << 20, scale: 1 << 20 };
    assert_eq!(recorded(&train(1, codec, |plan, _| plan.local_noise = Some(noise)).outcome), 0);
}
