//! Evaluates the ONNX file of a model version on the held-out examples, with an implementation that is independent of
//! the engine.

use folkmoot_engine::Examples;
use folkmoot_inference::InferenceModel;

use super::error::DemoError;

/// Returns the accuracy of the model on `held_out`, 0 to 1.
///
/// # Errors
/// [`DemoError::Inference`] if tract cannot read or run the model.
pub async fn accuracy(onnx: Vec<u8>, held_out: Examples) -> Result<f64, DemoError> {
    let evaluation = tokio::task::spawn_blocking(move || {
        let metrics = InferenceModel::from_onnx(&onnx)?.evaluate(&held_out)?;
        Ok::<_, DemoError>(metrics.accuracy().unwrap_or_default())
    });
    evaluation.await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    #[tokio::test]
    async fn an_untrained_model_guesses() {
        let held_out = data::deal(1, 1.0, 1).unwrap().held_out;
        let accuracy = accuracy(data::DemoModel::Mlp.onnx().to_vec(), held_out).await.unwrap();
        assert!((0.0..0.35).contains(&accuracy), "{accuracy}");
    }
}
