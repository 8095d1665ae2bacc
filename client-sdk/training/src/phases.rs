//! The phases of a training: the personal training, if the plan separates it, and then the training of the shared
//! weights.

use std::{borrow::Cow, time::Duration};

use folkmoot_engine::{
    Examples, FitError, Model, PersonalTraining, TrainError, Trainer, TrainingOutcome, TrainingPlan,
};
use folkmoot_protocol::{AssignmentId, messages::AbortReason};

use crate::{Inputs, SystemChance, WorkError, checkpoint::StoredTraining, misfit, own_tensors::constant};

/// The inputs from which the trainers of both phases are built.
pub(crate) struct Phases {
    model: Model,
    plan: TrainingPlan,
    examples: Examples,
    seed: u64,
    /// For each travelling tensor, whether its outer products are recorded.
    products: Vec<bool>,
    /// The values that the training of the shared weights needs after a personal training. `None` without one.
    later: Option<Later>,
}

/// The values that wait for the end of a personal training, and its result.
struct Later {
    /// The weights of the version, with this client's personal tensors.
    weights: Vec<f32>,
    /// The constant that is added to each gradient of the shared weights, for the whole model.
    correction: Option<Vec<f32>>,
    /// The result of the personal training: all weights. `None` before its end.
    personal: Option<Vec<f32>>,
}

impl Phases {
    /// Returns the phases, and a trainer from the checkpoint, if there is a usable one, with the time trained before it.
    /// Otherwise returns the trainer of the first phase.
    ///
    /// # Errors
    /// [`WorkError`] if the plan cannot be carried out, or the examples do not fit the model.
    pub fn begin(
        inputs: &Inputs,
        id: AssignmentId,
        examples: &Examples,
        products: Vec<bool>,
        checkpoint: Option<&[u8]>,
    ) -> Result<(Self, Trainer, Duration), WorkError> {
        let plan = inputs.plan.training.clone();
        let part = inputs.part();
        let sums = inputs.correction.as_ref().map(|parts| constant(parts, part.parameter_count()));
        let whole = sums.map(|sum| part.spread(&sum));
        let mut correction =
            whole.transpose().map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
        let comes_first = plan.personal_training.is_some_and(|one| one.first_epochs().is_some());
        let later = comes_first.then(|| Later {
            weights: inputs.starting_weights.clone(),
            correction: correction.take(),
            personal: None,
        });
        let mut phases = Self {
            model: inputs.model.clone(),
            plan,
            examples: examples.clone(),
            seed: id.seed(),
            products,
            later,
        };
        let stored = checkpoint.map(StoredTraining::decode);
        if let Some((trainer, trained)) = stored.and_then(|stored| phases.resume(inputs, stored)) {
            let trainer = contrasted(trainer, inputs)?;
            let waiting = phases.later.as_mut().filter(|later| later.personal.is_some());
            let correction = correction.or_else(|| waiting?.correction.take());
            let trainer = phases.equipped(trainer, correction)?;
            return Ok((phases, trainer, trained));
        }
        let (model, start, plan) = (&phases.model, &inputs.starting_weights, phases.plan.clone());
        let trainer = match phases.is_personal() {
            true => {
                let own = inputs.own_weights.as_deref();
                Trainer::new_personal(model, start, own, plan, examples, phases.seed)
            }
            false => Trainer::new(model, start, plan, examples, phases.seed),
        };
        let mut trainer = phases.equipped(trainer.map_err(refused)?, correction)?;
        let begun = match inputs.replica.as_ref().filter(|_| phases.plan.elastic_averaging.is_some()) {
            Some(replica) => trainer.begin_at(replica),
            None if phases.later.is_none() => {
                trainer.begin_own(inputs.own_weights.as_deref(), inputs.own_share)
            }
            None => Ok(()),
        };
        begun.map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
        Ok((phases, contrasted(trainer, inputs)?, Duration::ZERO))
    }

    fn resume(&mut self, inputs: &Inputs, stored: StoredTraining<'_>) -> Option<(Trainer, Duration)> {
        let (plan, checkpoint, start) = (self.plan.clone(), stored.checkpoint, &inputs.starting_weights);
        let is_sound = |personal: &[f32]| {
            personal.len() == start.len() && personal.iter().all(|weight| weight.is_finite())
        };
        let personal = stored.personal.map(Cow::into_owned).filter(|personal| is_sound(personal));
        let is_personal = self.later.is_some() && personal.is_none();
        let start = personal.as_ref().filter(|_| self.continues()).unwrap_or(start);
        let trainer = match is_personal {
            true => Trainer::resume_personal(&self.model, start, plan, &self.examples, checkpoint),
            false => Trainer::resume(&self.model, start, plan, &self.examples, checkpoint),
        };
        match trainer {
            Ok(trainer) => {
                if let Some(later) = &mut self.later {
                    later.personal = personal;
                }
                Some((trainer, stored.trained))
            }
            Err(error) => {
                tracing::warn!(%error, "the checkpoint cannot be used; training starts over");
                None
            }
        }
    }

    /// Ends the personal training with these weights, and returns the trainer of the shared weights.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_shared(&mut self, personal: Vec<f32>) -> Result<Trainer, WorkError> {
        let continues = self.continues();
        let Some(later) = &mut self.later else {
            return Err(WorkError::new(AbortReason::TrainingFailed, "there is one phase"));
        };
        let start = if continues { &personal } else { &later.weights };
        let trainer = Trainer::new(&self.model, start, self.plan.clone(), &self.examples, self.seed);
        let correction = later.correction.take();
        later.personal = Some(personal);
        self.equipped(trainer.map_err(refused)?, correction)
    }

    /// Returns whether the training of the shared weights starts with the result of the personal training, and changes
    /// none of it.
    fn continues(&self) -> bool {
        self.plan.personal_training.is_some_and(|personal| !personal.is_whole_model())
    }

    /// Returns whether the personal training is in progress.
    pub fn is_personal(&self) -> bool {
        self.later.as_ref().is_some_and(|later| later.personal.is_none())
    }

    /// Returns the result of the personal training.
    pub fn personal(&self) -> Option<&[f32]> {
        self.later.as_ref()?.personal.as_deref()
    }

    /// Returns the number of steps of a whole personal training.
    pub fn personal_steps(&self) -> u64 {
        let epochs = self.plan.personal_training.and_then(PersonalTraining::first_epochs);
        epochs.map_or(0, |epochs| {
            let plan = TrainingPlan { epochs, ..self.plan.clone() };
            Trainer::steps_of(&plan, self.examples.len())
        })
    }

    /// Returns the number of steps on the shared weights.
    pub fn shared_steps(&self) -> u64 {
        Trainer::steps_of(&self.plan, self.examples.len())
    }

    /// Adds the client's own model to the outcome for the shared weights.
    pub fn complete(self, mut outcome: TrainingOutcome) -> TrainingOutcome {
        let is_whole_model = self.plan.personal_training.is_some_and(PersonalTraining::is_whole_model);
        if let Some(later) = self.later.filter(|_| is_whole_model) {
            outcome.own_weights = later.personal.unwrap_or_default();
        }
        outcome
    }

    /// Sets up the trainer of the phase in progress: everything that it needs besides its plan.
    fn equipped(&self, mut trainer: Trainer, correction: Option<Vec<f32>>) -> Result<Trainer, WorkError> {
        if self.is_personal() {
            return Ok(trainer);
        }
        if let Some(correction) = correction {
            let set = trainer.set_gradient_correction(correction);
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

/// Contrasts the training with the client's last local model, if the plan does so and there is one.
fn contrasted(mut trainer: Trainer, inputs: &Inputs) -> Result<Trainer, WorkError> {
    if let (Some(_), Some(previous)) = (&inputs.plan.training.model_contrast, &inputs.replica) {
        trainer.contrast_with(previous).map_err(|error| misfit(&error))?;
    }
    Ok(trainer)
}

pub(crate) fn refused(error: TrainError) -> WorkError {
    match error {
        TrainError::Plan(_)
        | TrainError::Memory { .. }
        | TrainError::Fit(
            FitError::Pattern { .. }
            | FitError::Features { .. }
            | FitError::MixedExamples
            | FitError::NothingToTrain
            | FitError::TooManyForNewton { .. },
        ) => WorkError::new(AbortReason::PlanUnsupported, error),
        _ => failed(error),
    }
}

fn no_chance(error: &std::io::Error) -> String {
    format!("the operating system provided no random bytes, which the plan's example privacy needs: {error}")
}

/// Returns the end of a training that failed.
pub(crate) fn failed(error: TrainError) -> WorkError {
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
