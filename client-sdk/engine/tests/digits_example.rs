//! The digits example as training and test data.
#![allow(dead_code, reason = "each test crate uses only a part of it")]

use folkmoot_engine::data::{CsvOptions, read_csv};
use folkmoot_engine::{Examples, ImportLimits, LocalOptimizer, Loss, Model, TrainingPlan};

pub const MODEL: &[u8] = include_bytes!("../../../examples/digits/model.onnx");
const CSV: &[u8] = include_bytes!("../../../examples/digits/digits.csv");

pub fn model() -> Model {
    Model::from_onnx(MODEL, &ImportLimits::default()).expect("the example is a valid model")
}

/// Returns the training examples, and every fifth example as test data.
pub fn digits() -> (Examples, Examples) {
    let all = read_csv(CSV, &CsvOptions::default()).expect("the example is a valid file");
    let (held_out, training): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|index| index % 5 == 0);
    let subset = |indices: &[usize]| all.subset(indices).expect("the indices are those of the rows");
    (subset(&training), subset(&held_out))
}

pub fn plan(epochs: u32) -> TrainingPlan {
    let optimizer =
        LocalOptimizer::Sgd { learning_rate: 0.1, momentum: 0.9, nesterov: false, weight_decay: 1e-4 };
    TrainingPlan { epochs, ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer) }
}
