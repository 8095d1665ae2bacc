//! Work in the page's own training loop: its inputs, and its result.

use folkmoot_engine::Metrics;
use folkmoot_training::{Trained, own_outcome};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::{AssignedWork, error::work_failed, work::Kind};

#[wasm_bindgen]
impl AssignedWork {
    /// Returns the name of a tensor of the weights, or nothing after the last.
    #[wasm_bindgen(js_name = tensorName)]
    pub fn tensor_name(&self, index: usize) -> Option<String> {
        self.inputs.model.parameters().get(index).map(|tensor| tensor.name.clone())
    }

    /// Returns the shape of a tensor of the weights.
    #[wasm_bindgen(js_name = tensorShape)]
    pub fn tensor_shape(&self, index: usize) -> Vec<usize> {
        self.inputs.model.parameters().get(index).map(|tensor| tensor.shape.clone()).unwrap_or_default()
    }

    /// Returns the weights to start from, one tensor after the other.
    #[wasm_bindgen(js_name = startingWeights)]
    pub fn starting_weights(&self) -> Vec<f32> {
        self.inputs.starting_weights.clone()
    }

    /// Ends the work with the loop's result, which the page has checked. For an evaluation, there are no weights.
    #[wasm_bindgen(js_name = finishOwn)]
    pub fn finish_own(
        &mut self,
        weights: Vec<f32>,
        example_count: f64,
        loss_sum: f64,
        correct_count: f64,
        step_count: f64,
    ) -> Result<(), JsError> {
        let metrics = Metrics {
            example_count: example_count as u64,
            loss_sum,
            correct_count: correct_count as u64,
            step_count: step_count as u64,
        };
        let outcome = own_outcome(Trained { weights, metrics }, &self.inputs).map_err(work_failed)?;
        // The loop reports only the number of examples that it used, so the client counts these as held.
        self.held = example_count as usize;
        self.kind = Kind::Finished(Some(outcome));
        Ok(())
    }
}
