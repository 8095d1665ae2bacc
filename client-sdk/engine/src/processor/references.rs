//! The features of a step's examples in two other models, which the loss compares with the features in the trained
//! model.

use folkmoot_protocol::TrainingPlan;

use crate::evaluate::Forward;
use crate::fit::FitError;
use crate::model::Model;
use crate::step::{StepError, StepSource};

/// The version at the start of a training, and the client's last local model.
pub(crate) struct References {
    /// The model up to the features.
    forward: Forward,
    /// All weights of the last local model. Empty if the client has none, which the version then replaces.
    previous: Vec<f32>,
    /// The features in both, `[batch, …]` each.
    features: [Vec<f32>; 2],
}

impl References {
    /// Prepares for full batches of `full_batch` examples, with room for a last local model. Returns `None` if the step has no contrast.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the model has no such features, or cannot be compiled.
    pub(crate) fn of(source: &StepSource, full_batch: usize) -> Result<Option<Self>, StepError> {
        let Some(contrast) = &source.contrast else { return Ok(None) };
        let model = with_features(&source.model, &contrast.features)?;
        let count = full_batch * model.output_shape().iter().product::<usize>();
        let mut forward = Forward::new(&model);
        forward.prepare(full_batch)?;
        let previous = Vec::with_capacity(model.parameter_count());
        Ok(Some(Self { forward, previous, features: [0, 1].map(|_| Vec::with_capacity(count)) }))
    }

    /// Sets the weights of the last local model, flat in schema order; empty if there is none.
    pub(crate) fn set_previous(&mut self, previous: &[f32]) {
        self.previous.clear();
        self.previous.extend_from_slice(previous);
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
        let found = match &self.previous[..] {
            [] => of_version,
            previous => self.forward.run(previous, features, rows)?,
        };
        of_previous.clear();
        of_previous.extend_from_slice(found);
        Ok(())
    }

    /// Returns the features that were computed last: under the version, and under the client's previous local model.
    pub(crate) fn features(&self) -> [&[f32]; 2] {
        [&self.features[0], &self.features[1]]
    }

    /// Returns the number of bytes that the last local model, the programs and the features take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let [version, previous] = &self.features;
        let kept: usize = [&self.previous, version, previous].map(Vec::capacity).iter().sum();
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
        let Some(contrast) = &plan.model_contrast else { return Ok(()) };
        let shape = with_features(self, &contrast.features)?.output_shape().to_vec();
        if shape.iter().product::<usize>() < 2 {
            let name = &contrast.features;
            let reason = format!("`{name}` is one number, whose cosine with another is 1 or -1");
            return Err(FitError::Features { reason });
        }
        Ok(())
    }
}
