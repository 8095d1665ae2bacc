use folkmoot_engine::{FitError, ImportError, ImportLimits, Model, TrainedPart};
use folkmoot_protocol::TrainingPlan;

/// A model with all its weights as a version of a task has them.
pub struct WholeVersion {
    /// The model.
    pub model: Model,
    /// The tensors that the task's plan changes, which are all that the version's own bytes hold.
    pub part: TrainedPart,
    /// All weights, flat, in the order of the model's parameters.
    pub weights: Vec<f32>,
}

/// A version that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The model was read when it was brought; another build of the coordinator may know fewer operators.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The plan and the model, or the weights and the plan, do not go together.
    #[error(transparent)]
    Fit(#[from] FitError),
}

impl WholeVersion {
    /// Reads a task's model and the bytes of one of its versions.
    ///
    /// # Errors
    /// If the model cannot be read, or the weights are not those of the tensors that the plan changes.
    pub fn read(onnx: &[u8], weights: &[u8], plan: &TrainingPlan) -> Result<Self, VersionError> {
        let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
        let model = Model::from_onnx(onnx, &limits)?;
        let part = TrainedPart::of(&model, plan)?;
        let (weights, _) = weights.as_chunks::<4>();
        let weights = part.fill(weights.iter().map(|weight| f32::from_le_bytes(*weight)).collect())?;
        Ok(Self { model, part, weights })
    }
}
