//! The phases of a training: what only this client keeps, if the plan trains that apart, and then what travels.

use std::time::Duration;

use folkmoot_engine::{
    Examples, FitError, Model, PersonalTraining, TrainError, Trainer, TrainingOutcome, TrainingPlan,
};
use folkmoot_protocol::{AssignmentId, messages::AbortReason};

use super::{Inputs, SystemChance, WorkError, checkpoint::StoredTraining, misfit};

/// Everything from which the trainers of both phases are made.
pub(super) struct Phases {
    model: Model,
    plan: TrainingPlan,
    examples: Examples,
    seed: u64,
    /// The weights of the version, with this client's personal tensors.
    weights: Vec<f32>,
    /// The constant that is added to each gradient of what travels, for the whole model.
    correction: Option<Vec<f32>>,
    /// For each travelling tensor, whether its outer products are recorded.
    products: Vec<bool>,
    /// The result of the personal training: all weights. `None` before its end, and if the plan has none.
    personal: Option<Vec<f32>>,
}

impl Phases {
    /// # Errors
    /// [`WorkError`] if the correction does not fit.
    pub fn new(
        inputs: &Inputs,
        id: AssignmentId,
        examples: &Examples,
        products: Vec<bool>,
    ) -> Result<Self, WorkError> {
        let whole = inputs.correction.as_ref().map(|correction| inputs.part.spread(correction));
        let correction =
            whole.transpose().map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
        Ok(Self {
            model: inputs.model.clone(),
            plan: inputs.plan.training.clone(),
            examples: examples.clone(),
            seed: id.seed(),
            weights: inputs.starting_weights.clone(),
            correction,
            products,
            personal: None,
        })
    }

    /// Returns a trainer from the checkpoint, if there is a usable one, and the time trained before it. Otherwise returns the
    /// trainer of the first phase. A personal training of the client's own model starts with `own_weights`.
    ///
    /// # Errors
    /// [`WorkError`] if the plan cannot be carried out, or the examples do not fit the model.
    pub fn begin(
        &mut self,
        own_weights: Option<&[f32]>,
        checkpoint: Option<&[u8]>,
    ) -> Result<(Trainer, Duration), WorkError> {
        let stored = checkpoint.map(StoredTraining::decode);
        if let Some((trainer, trained)) = stored.and_then(|stored| self.resume(stored)) {
            return Ok((self.equipped(trainer)?, trained));
        }
        if !self.is_personal() {
            return Ok((self.shared()?, Duration::ZERO));
        }
        let (plan, examples) = (self.plan.clone(), &self.examples);
        let trainer =
            Trainer::new_personal(&self.model, &self.weights, own_weights, plan, examples, self.seed);
        Ok((self.equipped(trainer.map_err(refused)?)?, Duration::ZERO))
    }

    fn resume(&mut self, stored: StoredTraining<'_>) -> Option<(Trainer, Duration)> {
        let (plan, checkpoint) = (self.plan.clone(), stored.checkpoint);
        self.personal = stored.personal.filter(|_| self.plan.personal_training.is_some());
        let trainer = match self.is_personal() {
            true => Trainer::resume_personal(&self.model, &self.weights, plan, &self.examples, checkpoint),
            false => Trainer::resume(&self.model, self.shared_start(), plan, &self.examples, checkpoint),
        };
        match trainer {
            Ok(trainer) => Some((trainer, stored.trained)),
            Err(error) => {
                tracing::warn!(%error, "the checkpoint cannot be used; training starts over");
                self.personal = None;
                None
            }
        }
    }

    /// Ends the personal training with these weights, and returns the trainer of what travels.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn second(&mut self, personal: Vec<f32>) -> Result<Trainer, WorkError> {
        self.personal = Some(personal);
        self.shared()
    }

    /// Returns whether the personal training is still to come or in progress.
    pub fn is_personal(&self) -> bool {
        self.plan.personal_training.is_some() && self.personal.is_none()
    }

    /// Returns the result of the personal training.
    pub fn personal(&self) -> Option<&[f32]> {
        self.personal.as_deref()
    }

    /// Returns the number of steps of a whole personal training.
    pub fn personal_steps(&self) -> u64 {
        self.plan.personal_training.map_or(0, |personal| {
            let plan = TrainingPlan { epochs: personal.epochs(), ..self.plan.clone() };
            Trainer::steps_of(&plan, self.examples.len())
        })
    }

    /// Returns the number of steps of the training of what travels.
    pub fn shared_steps(&self) -> u64 {
        Trainer::steps_of(&self.plan, self.examples.len())
    }

    /// Adds the client's own model to the outcome of what travels.
    pub fn complete(self, mut outcome: TrainingOutcome) -> TrainingOutcome {
        if self.plan.personal_training.is_some_and(PersonalTraining::is_of_a_model) {
            outcome.own_weights = self.personal.unwrap_or_default();
        }
        outcome
    }

    fn shared(&self) -> Result<Trainer, WorkError> {
        let plan = self.plan.clone();
        let trainer = Trainer::new(&self.model, self.shared_start(), plan, &self.examples, self.seed);
        self.equipped(trainer.map_err(refused)?)
    }

    /// Returns the weights from which the training of what travels starts.
    fn shared_start(&self) -> &[f32] {
        match (&self.personal, self.plan.personal_training) {
            (Some(personal), Some(PersonalTraining::FedRep { .. })) => personal,
            _ => &self.weights,
        }
    }

    /// Adds what the phase in progress needs besides its plan.
    fn equipped(&self, mut trainer: Trainer) -> Result<Trainer, WorkError> {
        if self.is_personal() {
            return Ok(trainer);
        }
        if let Some(correction) = &self.correction {
            let set = trainer.set_gradient_correction(correction.clone());
            set.map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
        }
        trainer.record_outer_products(&self.products);
        if self.plan.example_privacy.is_some() {
            let chance = SystemChance::new()
                .map_err(|error| WorkError::new(AbortReason::TrainingFailed, no_chance(&error)))?;
            trainer.set_secret_chance(Box::new(chance));
        }
        Ok(trainer)
    }
}

fn refused(error: TrainError) -> WorkError {
    match error {
        TrainError::Plan(_)
        | TrainError::Memory { .. }
        | TrainError::Fit(FitError::Pattern { .. } | FitError::MixedExamples | FitError::NothingToTrain) => {
            WorkError::new(AbortReason::PlanUnsupported, error)
        }
        _ => failed(error),
    }
}

fn no_chance(error: &std::io::Error) -> String {
    format!("the operating system provided no random bytes, which the plan's example privacy needs: {error}")
}

/// Returns the end of a training that failed.
pub(super) fn failed(error: TrainError) -> WorkError {
    if is_about_precision(&error) {
        return WorkError::new(AbortReason::PlanUnsupported, error);
    }
    if let TrainError::Fit(error) = &error {
        return misfit(error);
    }
    WorkError::new(AbortReason::TrainingFailed, error)
}

/// Returns whether the error comes from the device. Such an error ends only plans with mixed precision, because all
/// other plans continue on the CPU.
fn is_about_precision(error: &TrainError) -> bool {
    #[cfg(feature = "gpu")]
    if matches!(error, TrainError::Gpu(_)) {
        return true;
    }
    matches!(error, TrainError::NoHalfPrecision)
}
