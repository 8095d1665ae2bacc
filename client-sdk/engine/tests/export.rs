//! Export changes the weights and nothing else.

use crate::digits_example::{MODEL, model};
use folkmoot_engine::{ExportError, ImportLimits, Model, onnx};

#[test]
fn the_initial_weights_give_back_the_same_file() {
    let model = model();
    assert_eq!(model.export_onnx(&model.initial_weights()).unwrap(), MODEL);
}

#[test]
fn only_the_bytes_of_the_weights_change() {
    let model = model();
    let mut weights = model.initial_weights();
    weights[0] = 0.123;
    let exported = model.export_onnx(&weights).unwrap();
    let changed: Vec<usize> = (0..MODEL.len()).filter(|index| MODEL[*index] != exported[*index]).collect();
    assert_eq!(exported.len(), MODEL.len());
    assert!(!changed.is_empty() && changed.len() <= 4, "{changed:?}");
    let again = Model::from_onnx(&exported, &ImportLimits::default()).unwrap();
    assert_eq!(again.initial_weights(), weights);
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let model = model();
    let mut weights = model.initial_weights();
    weights[3] = f32::NAN;
    assert_eq!(model.export_onnx(&weights), Err(ExportError::NotFinite { index: 3 }));
    let expected = model.parameter_count();
    assert_eq!(model.export_onnx(&[1.0]), Err(ExportError::WrongLength { expected, found: 1 }));
}

#[test]
fn built_models_import() {
    let limits = ImportLimits::default();
    let single = Model::from_onnx(&onnx::build::single_tensor(1000), &limits).unwrap();
    assert_eq!(single.parameters()[0].name, "weights");
    assert_eq!(single.parameter_count(), 1000);
    let mlp = Model::from_onnx(&onnx::build::mlp(&[64, 64, 10], 3), &limits).unwrap();
    assert_eq!(mlp.parameter_count(), 4810);
    assert_eq!(onnx::build::mlp(&[64, 64, 10], 3), onnx::build::mlp(&[64, 64, 10], 3));
}
