use folkmoot_engine::{Examples, Labels};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::thrown;

/// Examples of this device: features and labels, in row-major order.
#[wasm_bindgen]
pub struct ExampleSet(Examples);

#[wasm_bindgen]
impl ExampleSet {
    /// Creates examples with `per_example` class numbers each: one, or one for each position of a sequence.
    pub fn classes(
        features: Vec<f32>,
        shape: Vec<usize>,
        classes: Vec<u32>,
        per_example: usize,
    ) -> Result<Self, JsError> {
        let labels = match per_example {
            1 => Labels::Classes(classes),
            _ => Labels::Sequences(classes, per_example),
        };
        Examples::new(features, shape, labels).map(Self).map_err(thrown)
    }

    /// Creates examples with `per_example` target values each.
    pub fn targets(
        features: Vec<f32>,
        shape: Vec<usize>,
        targets: Vec<f32>,
        per_example: usize,
    ) -> Result<Self, JsError> {
        Examples::new(features, shape, Labels::Targets(targets, per_example)).map(Self).map_err(thrown)
    }

    /// The number of examples.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.len()
    }
}

impl ExampleSet {
    pub(crate) fn examples(&self) -> &Examples {
        &self.0
    }
}
