use folkmoot_engine::{ImportLimits, Model};
use folkmoot_training::{
    parse_parts, parse_plan, parse_weights, predicting_weights, travelling, with_output,
};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::{thrown, work_failed};

/// Returns whether a page must load the module with the complete importer for this ONNX model.
#[wasm_bindgen(js_name = needsCompleteImporter)]
pub fn needs_complete_importer(onnx: &[u8]) -> bool {
    Model::needs_complete(onnx, &ImportLimits::default())
}

/// A model and its weights, for predictions.
#[wasm_bindgen]
pub struct TrainedModel {
    model: Model,
    weights: Vec<f32>,
}

#[wasm_bindgen]
impl TrainedModel {
    /// Reads a plan, its ONNX model, and weights: little-endian float32 in the order of the plan's schema, or
    /// concatenated parts of the given lengths. `personal` are the client's own tensors of the task, if there are any.
    #[wasm_bindgen(constructor)]
    pub fn new(
        plan: &[u8],
        onnx: &[u8],
        weights: &[u8],
        part_bytes: &[u32],
        personal: Option<Vec<u8>>,
    ) -> Result<Self, JsError> {
        let plan = parse_plan(plan).map_err(work_failed)?;
        let model = Model::from_onnx(onnx, &ImportLimits::default()).map_err(thrown)?;
        let model = with_output(&plan, &model).map_err(work_failed)?;
        let travelling = travelling(&plan, &model).map_err(work_failed)?;
        let values = if part_bytes.is_empty() {
            parse_weights(weights, &travelling)
        } else {
            parse_parts(cut(weights, part_bytes), &travelling)
        };
        let values = values.map_err(work_failed)?;
        let weights = predicting_weights(&travelling, values, personal.as_deref()).map_err(work_failed)?;
        Ok(Self { model, weights })
    }

    /// Returns the outputs for `rows` rows of features.
    pub fn predict(&self, features: &[f32], rows: usize) -> Result<Vec<f32>, JsError> {
        self.model.predict(&self.weights, features, rows).map_err(thrown)
    }

    /// The shape of one example's features.
    #[wasm_bindgen(getter)]
    pub fn input_shape(&self) -> Vec<usize> {
        self.model.input_shape().to_vec()
    }

    /// The shape of one example's output.
    #[wasm_bindgen(getter)]
    pub fn output_shape(&self) -> Vec<usize> {
        self.model.output_shape().to_vec()
    }
}

/// Splits bytes into parts of these lengths. If there are too few bytes, the last part is too short, and reading it
/// fails.
fn cut<'a>(bytes: &'a [u8], lengths: &[u32]) -> impl Iterator<Item = &'a [u8]> {
    lengths.iter().scan(bytes, |rest, length| {
        let (part, behind) = rest.split_at(rest.len().min(*length as usize));
        *rest = behind;
        Some(part)
    })
}
