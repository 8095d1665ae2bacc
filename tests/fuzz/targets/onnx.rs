//! Reads any bytes as an ONNX model. A valid model must survive being written and read again.

#![no_main]

use folkmoot_engine::{Model, onnx::ImportLimits};
use folkmoot_fuzz::{prepare, seeds, within};
use libfuzzer_sys::fuzz_target;

/// Limits that are so small that the reader exceeds the memory limit if it trusts a claimed size without a check.
const LIMITS: ImportLimits = ImportLimits {
    model_bytes_max: 1 << 20,
    nodes_max: 1_000,
    initializers_max: 1_000,
    parameters_max: 1 << 20,
    attributes_max: 10_000,
    tensor_elements_max: 1 << 16,
    constant_elements_max: 1 << 16,
    graph_nodes_max: 2_000,
};
/// The memory limit for reading a model within the limits.
const BYTES_MAX: usize = 64 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let files = ["examples/models", "client-sdk/onnx/tests/data"].map(|folder| seeds::files(folder, ".onnx"));
    files.into_iter().flatten().map(|(_, bytes)| bytes).collect()
}

fuzz_target!(init: prepare(seeds), |bytes: &[u8]| {
    let Ok(model) = within(BYTES_MAX, || Model::from_onnx(bytes, &LIMITS)) else { return };
    let weights = model.initial_weights();
    assert_eq!(weights.len(), model.parameter_count());
    if let Ok(written) = model.export_onnx(&weights) {
        let again = Model::from_onnx(&written, &ImportLimits::default()).expect("what was written can be read");
        assert_eq!((again.parameters(), again.input_shape()), (model.parameters(), model.input_shape()));
    }
});
