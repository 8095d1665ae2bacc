//! The features of a step's examples in two other models, with which it contrasts its own.

use folkmoot_protocol::TrainingPlan;

use crate::evaluate::Forward;
use crate::fit::FitError;
use crate::model::Model;
use crate::step::StepError;
use folkmoot_loss::loss::Contrast;

/// The version at the start of a training, and the client's last local model.
pub(crate) struct ModelContrast {
    /// The model up to the features.
    forward: Forward,
    /// All weights of the last local model; `None` if the client has none, which the version then replaces.
    previous: Option<Vec<f32>>,
    /// The features in both, `[batch, …]` each.
    features: [Vec<f32>; 2],
}

impl ModelContrast {
    /// Prepares for full batches of `full_batch` examples.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the model has no such features, or cannot be compiled.
    pub(crate) fn new(model: &Model, contrast: &Contrast, full_batch: usize) -> Result<Self, StepError> {
        let mut forward = Forward::new(&with_features(model, &contrast.features)?);
        forward.prepare(full_batch)?;
        Ok(Self { forward, previous: None, features: Default::default() })
    }

    /// Sets the weights of the last local model, flat in schema order.
    pub(crate) fn set_previous(&mut self, previous: Option<Vec<f32>>) {
        self.previous = previous;
    }

    /// Computes the features of a batch of examples. `version` has all weights of the version.
    ///
    /// # Errors
    /// Returns a [`StepError`] if memory runs out.
    pub(crate) fn compute(
        &mut self,
        version: &[f32],
        features: &[f32],
        rows: usize,
    ) -> Result<(), StepError> {
        let [of_version, of_previous] = &mut self.features;
        let found = self.forward.run(version, features, rows)?;
        of_version.clear();
        of_version.extend_from_slice(found);
        let found = match &self.previous {
            Some(previous) => self.forward.run(previous, features, rows)?,
            None => of_version,
        };
        of_previous.clear();
        of_previous.extend_from_slice(found);
        Ok(())
    }

    /// Returns the features that were computed last: those of the version, and of the last local model.
    pub(crate) fn features(&self) -> [&[f32]; 2] {
        [&self.features[0], &self.features[1]]
    }

    /// Returns the number of bytes that the last local model, the programs and the features take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let kept = self.features.iter().chain(&self.previous).map(Vec::capacity).sum::<usize>();
        kept * size_of::<f32>() + self.forward.memory_bytes()
    }
}

/// Returns the model up to the value with this name.
///
/// # Errors
/// Returns [`FitError::Features`] if it has no such value, or the value does not begin with the batch.
fn with_features(model: &Model, name: &str) -> Result<Model, FitError> {
    if name == model.output_name() {
        return Ok(model.clone());
    }
    #[cfg(feature = "complete")]
    return model.with_output(name).map_err(|error| FitError::Features { reason: error.to_string() });
    #[cfg(not(feature = "complete"))]
    Err(FitError::Features { reason: "this build finds no values inside of a model".to_owned() })
}

impl Model {
    /// Checks that the model has the features that a plan contrasts with those of other models.
    ///
    /// # Errors
    /// Returns [`FitError::Features`].
    pub fn check_contrast(&self, plan: &TrainingPlan) -> Result<(), FitError> {
        plan.model_contrast.as_ref().map_or(Ok(()), |one| with_features(self, &one.features).map(|_| ()))
    }
}
