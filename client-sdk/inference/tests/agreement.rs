//! Checks that tract reads the same files and computes the same outputs as the engine.

#[path = "../../engine/tests/digits_example.rs"]
mod digits_example;

use digits_example::{digits, model, plan};
use folkmoot_engine::{ImportLimits, Loss, Model, Trainer, evaluate, onnx};
use folkmoot_inference::{InferenceError, InferenceModel};

/// The maximum difference between the two sums of losses, relative to the engine's sum. Both compute in single
/// precision.
const LOSS_TOLERANCE: f64 = 1e-5;

#[test]
fn tract_agrees_on_the_trained_and_exported_digits_model() {
    let (training, held_out) = digits();
    let model = model();
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan(2), &training, 1).unwrap();
    while !trainer.step().unwrap().finished {}
    let weights = trainer.finish().weights;
    let exported = model.export_onnx(&weights).unwrap();

    let inference = InferenceModel::from_onnx(&exported).unwrap();
    assert_eq!((inference.input_shape(), inference.output_shape()), (&[64][..], &[10][..]));
    let ours = evaluate(&model, &weights, &held_out, Loss::SoftmaxCrossEntropy).unwrap();
    let theirs = inference.evaluate(&held_out).unwrap();
    assert_eq!((ours.example_count, ours.correct_count), (theirs.example_count, theirs.correct_count));
    assert!((ours.loss_sum - theirs.loss_sum).abs() <= LOSS_TOLERANCE * ours.loss_sum, "{ours:?} {theirs:?}");
    let again = Model::from_onnx(&exported, &ImportLimits::default()).unwrap();
    assert_eq!(again.initial_weights(), weights);
}

/// The largest difference between outputs, relative to the largest output.
const OUTPUT_TOLERANCE: f32 = 2e-5;

#[test]
fn tract_agrees_on_every_example_model() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut paths: Vec<_> = ["models", "digits"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(examples.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "onnx"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 13, "{paths:?}");
    for path in paths {
        let onnx = std::fs::read(&path).unwrap();
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
        let rows = 3;
        let count = rows * model.input_shape().iter().product::<usize>();
        // Small integers are valid pixels, measurements and row numbers of a table.
        let features: Vec<f32> = (0..count).map(|index| (index * 7 % 5) as f32).collect();
        let ours = model.predict(&model.initial_weights(), &features, rows).unwrap();
        let inference =
            InferenceModel::from_onnx(&onnx).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let theirs = inference.predict(&features, rows).unwrap();
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        let largest = theirs.iter().fold(0f32, |largest, y| largest.max(y.abs()));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(
                (ours - theirs).abs() <= OUTPUT_TOLERANCE * largest.max(1e-3),
                "{}: {ours}, tract {theirs}",
                path.display()
            );
        }
    }
}

#[test]
fn tract_agrees_on_every_operator() {
    let onnx = include_bytes!("../../onnx/tests/data/operators.onnx");
    let features = [1.0, -2.0, 0.5, 3.0, -1.0, 0.25, 4.0, -0.125];
    let model = Model::from_onnx(onnx, &ImportLimits::default()).unwrap();
    let ours = model.predict(&model.initial_weights(), &features, 2).unwrap();
    let theirs = InferenceModel::from_onnx(onnx).unwrap().predict(&features, 2).unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!((ours - theirs).abs() < 1e-5, "{ours}, tract {theirs}");
    }
}

/// Models of the importer's test data that tract reads.
const READ_BY_TRACT: [&str; 4] = ["elements", "images", "positions", "volumes"];

#[test]
fn tract_agrees_on_the_models_of_the_importer() {
    for name in READ_BY_TRACT {
        let path = format!("{}/../onnx/tests/data/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
        let onnx = std::fs::read(path).unwrap();
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
        let rows = 3;
        let count = rows * model.input_shape().iter().product::<usize>();
        let features: Vec<f32> = (0..count).map(|index| (index * 37 % 101) as f32 / 50.0 - 1.0).collect();
        let ours = model.predict(&model.initial_weights(), &features, rows).unwrap();
        let inference = InferenceModel::from_onnx(&onnx).unwrap_or_else(|error| panic!("{name}: {error}"));
        let theirs = inference.predict(&features, rows).unwrap();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let largest = theirs.iter().fold(0f32, |largest, y| largest.max(y.abs()));
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let is_close = (ours - theirs).abs() <= OUTPUT_TOLERANCE * largest;
            assert!(is_close, "{name}: element {index} is {ours}, tract says {theirs}");
        }
    }
}

#[test]
fn predictions_have_a_row_for_each_example() {
    let inference = InferenceModel::from_onnx(&onnx::build::mlp(&[3, 4, 2], 5)).unwrap();
    assert_eq!(inference.predict(&[0.5; 9], 3).unwrap().len(), 6);
    assert_eq!(inference.predict(&[], 0).unwrap().len(), 0);
    assert!(matches!(inference.predict(&[0.5; 8], 3), Err(InferenceError::WrongLength { expected: 9, .. })));
    assert!(matches!(InferenceModel::from_onnx(b"no model"), Err(InferenceError::Load(_))));
}

#[test]
fn a_model_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<InferenceModel>();
    is_shared::<InferenceError>();
}

#[test]
fn a_batch_with_any_name_is_read_before_and_after_training() {
    for name in ["normalised", "named_batch"] {
        let path = format!("{}/../../tests/engine/exported/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
        let onnx = std::fs::read(path).unwrap();
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
        let weights: Vec<f32> = model.initial_weights().iter().map(|weight| weight + 0.125).collect();
        let width = model.input_shape()[0];
        let features: Vec<f32> = (0..3 * width).map(|index| (index % 5) as f32 - 2.0).collect();
        let trained = model.export_onnx(&weights).unwrap();
        for (onnx, weights) in [(onnx, model.initial_weights()), (trained, weights)] {
            let theirs = InferenceModel::from_onnx(&onnx).unwrap().predict(&features, 3).unwrap();
            let ours = model.predict(&weights, &features, 3).unwrap();
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!((ours - theirs).abs() < 1e-4 * theirs.abs().max(1.0), "{name}: {ours} and {theirs}");
            }
        }
    }
}
