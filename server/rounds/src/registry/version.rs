use folkmoot_engine::{FitError, ImportError, ImportLimits, Model, TrainedPart};
use folkmoot_protocol::TrainingPlan;

/// A model with all weights of one version of a task.
pub struct WholeVersion {
    /// The model.
    pub model: Model,
    /// The tensors that the task's plan can change. A version's blob contains only these tensors.
    pub part: TrainedPart,
    /// All weights in one vector, in the order of the model's parameters.
    pub weights: Vec<f32>,
}

/// The reason why a version cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The model was readable when it was uploaded; another build of the coordinator may support fewer operators.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The plan does not match the model, or the weights do not match the plan.
    #[error(transparent)]
    Fit(#[from] FitError),
}

impl WholeVersion {
    /// Reads a task's model and the bytes of one of its versions.
    ///
    /// # Errors
    /// Fails if the model cannot be read, or the weights do not match the tensors that the plan can change.
    pub fn read(onnx: &[u8], weights: &[u8], plan: &TrainingPlan) -> Result<Self, VersionError> {
        let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
        let model = Model::from_onnx(onnx, &limits)?;
        let part = TrainedPart::of(&model, plan)?;
        let (weights, _) = weights.as_chunks::<4>();
        let weights = part.fill(weights.iter().map(|weight| f32::from_le_bytes(*weight)).collect())?;
        Ok(Self { model, part, weights })
    }
}
