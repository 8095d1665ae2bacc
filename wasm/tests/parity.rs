//! The update of a native client's training, stored as bytes for browsers to compare theirs with: see
//! `tests/browser/parity.test.mjs`. `FOLKMOOT_BLESS=1` rewrites inputs and updates.

use std::{env, fs, path::PathBuf, time::Duration};

use folkmoot_engine::{
    Examples, ImportLimits, Labels, Model, TrainedPart, block_on,
    data::{CsvOptions, read_csv},
};
use folkmoot_protocol::{
    BlobDigest, LocalOptimizer, Loss, Plan, TrainingPlan,
    messages::{Artifact, Assignment},
};
use folkmoot_training::{Budget, FinishedWork, Inputs, Training, WorkError, make, parse_plan};
use folkmoot_work::samples;

const DIGITS: &[u8] = include_bytes!("../../examples/digits/digits.csv");
/// Examples of a training; the last batch is smaller than the others.
const EXAMPLES: usize = 200;
/// The largest allowed difference of a weight from the stored one. Other compiler versions may round in a different
/// order.
const TOLERANCE: f32 = 1e-5;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/browser").join(name)
}

fn plan(onnx: &[u8], model: &Model) -> Plan {
    let optimizer = LocalOptimizer::sgd(0.05);
    let training = TrainingPlan { batch_size: 32, ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer) };
    let part = TrainedPart::of(model, &training).expect("a test has what it needs");
    Plan { model: BlobDigest::of(onnx), schema: part.schema(), training, ..samples::plan() }
}

fn assignment(plan: &[u8], onnx: &[u8], weights: &[u8]) -> Assignment {
    let artifact = |bytes: &[u8]| Artifact { digest: BlobDigest::of(bytes), bytes: bytes.len() as u64 };
    Assignment {
        round_number: 1,
        base_version: 0,
        plan: artifact(plan),
        model: artifact(onnx),
        weights: artifact(weights),
        ..samples::assignment()
    }
}

fn examples() -> Examples {
    let all = read_csv(DIGITS, &CsvOptions::default()).expect("a test has what it needs");
    all.subset(&(0..EXAMPLES).collect::<Vec<_>>()).expect("a test has what it needs")
}

/// Trains as a client does, and returns the update's bytes.
fn update(assignment: &Assignment, plan: &[u8], onnx: &[u8], weights: &[u8]) -> Result<Vec<u8>, WorkError> {
    let read = |artifact| Ok(if artifact == assignment.model { onnx.to_vec() } else { weights.to_vec() });
    let inputs = Inputs::of(assignment, parse_plan(plan)?, None, &Budget::default(), read)?;
    let mut training = Training::begin(&inputs, assignment, &examples(), None)?;
    while !block_on(training.advance(&|| Duration::ZERO))?.is_over {}
    let outcome = training.finish();
    let held_example_count = EXAMPLES as u64;
    let finished = FinishedWork {
        assignment: assignment.clone(),
        plan: inputs.plan,
        outcome,
        held_example_count,
        own: None,
    };
    Ok(make(&finished, None)?.bytes)
}

fn check(name: &str, onnx: &[u8]) {
    let model = Model::from_onnx(onnx, &ImportLimits::default()).expect("a test has what it needs");
    let plan = plan(onnx, &model);
    let part = TrainedPart::of(&model, &plan.training).expect("a test has what it needs");
    let weights = part.pick(&model.initial_weights()).expect("a test has what it needs");
    let weights: Vec<u8> = weights.into_iter().flat_map(f32::to_le_bytes).collect();
    let plan = serde_json::to_vec_pretty(&plan).expect("a test has what it needs");
    let assignment = assignment(&plan, onnx, &weights);
    let bytes = update(&assignment, &plan, onnx, &weights).expect("a test has what it needs");
    let folder = folder(name);
    if env::var_os("FOLKMOOT_BLESS").is_some_and(|value| value == "1") {
        let examples = examples();
        let Labels::Classes(classes) = examples.labels() else { panic!("digits are classes") };
        let features: Vec<u8> = examples.features().iter().flat_map(|value| value.to_le_bytes()).collect();
        let labels: Vec<u8> = classes.iter().flat_map(|class| class.to_le_bytes()).collect();
        let shape = serde_json::to_vec(examples.feature_shape()).expect("a test has what it needs");
        let assignment = serde_json::to_vec_pretty(&assignment).expect("a test has what it needs");
        fs::create_dir_all(&folder).expect("a test has what it needs");
        for (file, bytes) in [
            ("assignment.json", &assignment),
            ("plan.json", &plan),
            ("model.onnx", &onnx.to_vec()),
            ("weights.bin", &weights),
            ("features.bin", &features),
            ("labels.bin", &labels),
            ("shape.json", &shape),
            ("update.bin", &bytes),
        ] {
            fs::write(folder.join(file), bytes).expect("a test has what it needs");
        }
    }
    assert_eq!(
        fs::read(folder.join("plan.json")).expect("a test has what it needs"),
        plan,
        "FOLKMOOT_BLESS=1 writes it again"
    );
    let kept = fs::read(folder.join("update.bin")).expect("a test has what it needs");
    assert_eq!(kept.len(), bytes.len());
    assert_eq!(kept[..80], bytes[..80], "the headers differ");
    let values = |bytes: &[u8]| -> Vec<f32> {
        bytes[112..].as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
    };
    let difference = values(&kept).iter().zip(values(&bytes)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(difference <= TOLERANCE, "{name}: {difference}");
}

#[test]
fn a_perceptrons_update_is_the_one_that_browsers_compare_with() {
    check("mlp", include_bytes!("../../examples/digits/model.onnx"));
}

#[test]
fn the_update_of_a_model_for_the_complete_importer_is_the_one_that_browsers_compare_with() {
    check("scaled", include_bytes!("../../tests/engine/exported/scaled_digits.onnx"));
}

#[test]
fn a_convolutional_networks_update_is_the_one_that_browsers_compare_with() {
    check("cnn", include_bytes!("../../examples/digits/cnn.onnx"));
}
