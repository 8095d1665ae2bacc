//! Reads any bytes as the weights of a model. Valid weights must survive being written and read again.

#![no_main]

use std::sync::LazyLock;

use folkmoot_engine::{Model, onnx::ImportLimits};
use folkmoot_fuzz::{prepare, seeds, within};
use libfuzzer_sys::fuzz_target;

/// The smallest model of the examples.
static MODEL: LazyLock<Model> = LazyLock::new(|| {
    let models = seeds::files("examples/models", "logistic_regression.onnx");
    Model::from_onnx(&models[0].1, &ImportLimits::default()).expect("it is a model")
});

fn seeds() -> Vec<Vec<u8>> {
    vec![MODEL.weights_to_safetensors(&MODEL.initial_weights()).expect("they are the model's")]
}

fuzz_target!(init: prepare(seeds), |bytes: &[u8]| {
    let model = &*MODEL;
    let most = (256 << 10) + 64 * bytes.len();
    let Ok(weights) = within(most, || model.weights_from_safetensors(bytes)) else { return };
    assert_eq!(weights.len(), model.parameter_count());
    let written = model.weights_to_safetensors(&weights).expect("they are the model's");
    let again = model.weights_from_safetensors(&written).expect("what was written can be read");
    assert!(again.iter().zip(&weights).all(|(one, other)| one.to_bits() == other.to_bits()));
});
