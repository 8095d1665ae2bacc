use folkmoot_engine::{FitError, ImportError, ImportLimits, Model, TrainedPart, Travelling};
use folkmoot_protocol::{ErrorCode, TensorSchema, TrainingPlan};

use crate::refusal::Refusal;

/// A model with all weights of one version of a task.
pub struct WholeVersion {
    /// The model.
    pub model: Model,
    /// The tensors of the model that the task's plan can change.
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
    /// Another build of the coordinator created the task, and decided differently which tensors are trained.
    #[error(
        "this version of the coordinator trains other tensors of the model than the task was created with, so it cannot \
         read the task's versions. Read them with the version that created the task, or create a new task"
    )]
    Schema,
}

impl From<VersionError> for Refusal {
    fn from(error: VersionError) -> Self {
        match error {
            VersionError::Schema => Self::new(ErrorCode::ModelInvalid, error.to_string()),
            error => Self::internal(&error),
        }
    }
}

impl WholeVersion {
    /// Reads a task's model and the bytes of one of its versions. If the task has clusters, reads the model of
    /// `cluster`, counted from 0, or of the cluster with the largest share of the clients.
    ///
    /// # Errors
    /// Fails if the model cannot be read, the task's schema does not list the tensors that the plan can change, or the
    /// weights do not match them, or there is no such cluster.
    pub fn read(
        onnx: &[u8],
        weights: &[u8],
        plan: &TrainingPlan,
        schema: &TensorSchema,
        cluster: Option<usize>,
    ) -> Result<Self, VersionError> {
        let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
        let model = Model::from_onnx(onnx, &limits)?.for_plan(plan)?;
        let travelling = Travelling::of(&model, plan)?;
        if travelling.schema() != *schema {
            return Err(VersionError::Schema);
        }
        let (weights, _) = weights.as_chunks::<4>();
        let values = weights.iter().map(|weight| f32::from_le_bytes(*weight)).collect();
        let weights = travelling.fill(values, cluster)?;
        Ok(Self { model, part: travelling.part().clone(), weights })
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::onnx::build::mlp;
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    #[test]
    fn a_version_of_other_tensors_is_refused_even_if_it_has_as_many_numbers() {
        let onnx = mlp(&[2, 2], 1);
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).unwrap();
        let mut schema = TrainedPart::of(&model, &plan).unwrap().schema();
        assert!(WholeVersion::read(&onnx, &[0; 24], &plan, &schema, None).is_ok());
        schema.tensors[0].name.push('s');
        let error = WholeVersion::read(&onnx, &[0; 24], &plan, &schema, None).err().unwrap();
        assert!(matches!(error, VersionError::Schema), "{error}");
        assert_eq!(Refusal::from(error).code(), ErrorCode::ModelInvalid);
    }
}
