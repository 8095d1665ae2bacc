//! The personal training: it trains weights that only one client keeps, before the training of the shared weights.

use folkmoot_protocol::{PersonalTraining, TrainingPlan};

use super::Trainer;
use crate::examples::Examples;
use crate::fit::{FitError, check_weights};
use crate::model::Model;
use crate::step::Phase;
use crate::train::TrainError;

impl Trainer {
    /// Prepares the plan's personal training, if it comes first (FedRep, Ditto). All vectors are flat in schema order.
    ///
    /// With FedRep, the trained weights are the starting weights for [`Trainer::new`]. With Ditto, they are the client's own
    /// model; training begins with its weights `own_weights`, or with `starting_weights` if it has none yet, and is drawn to
    /// `starting_weights`.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::new`].
    pub fn new_personal(
        model: &Model,
        starting_weights: &[f32],
        own_weights: Option<&[f32]>,
        plan: TrainingPlan,
        examples: &Examples,
        seed: u64,
    ) -> Result<Self, TrainError> {
        let plan = personal_plan(plan);
        own_weights.map_or(Ok(()), |own| check_weights(model, own))?;
        let mut trainer = Self::of(Phase::Personal, model, starting_weights, plan, examples, seed)?;
        trainer.start_from(own_weights);
        Ok(trainer)
    }

    /// Resumes a personal training from a [`Trainer::checkpoint`]. All other arguments must be those of
    /// [`Trainer::new_personal`], except the client's own weights, which are in the checkpoint.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::resume`].
    pub fn resume_personal(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        checkpoint: &[u8],
    ) -> Result<Self, TrainError> {
        let plan = personal_plan(plan);
        Self::resume_phase(Phase::Personal, model, starting_weights, plan, examples, checkpoint)
    }

    /// [`Trainer::restart`] for a trainer of [`Trainer::new_personal`].
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::restart`].
    pub fn restart_personal(
        &mut self,
        starting_weights: &[f32],
        own_weights: Option<&[f32]>,
        examples: &Examples,
        seed: u64,
    ) -> Result<(), TrainError> {
        own_weights.map_or(Ok(()), |own| check_weights(&self.processor.source().model, own))?;
        self.restart(starting_weights, examples, seed)?;
        self.start_from(own_weights);
        Ok(())
    }

    /// Begins with the client's own model, flat in schema order, and its share in the predictions, if it is trained in the same steps
    /// as the shared model (APFL). `None` stands for a client without an own model. Call it before the first step.
    ///
    /// # Errors
    /// Returns a [`FitError`] unless there is one finite number for each parameter.
    pub fn begin_own(&mut self, weights: Option<&[f32]>, share: Option<f32>) -> Result<(), FitError> {
        weights.map_or(Ok(()), |own| check_weights(&self.processor.source().model, own))?;
        if let Some(companion) = &mut self.companion {
            companion.begin(&self.host.weights, weights, share.filter(|share| (0.0..=1.0).contains(share)));
        }
        Ok(())
    }

    /// Begins with these weights, which were checked, instead of the starting weights.
    fn start_from(&mut self, own_weights: Option<&[f32]>) {
        if let Some(own) = own_weights {
            self.host.weights.copy_from_slice(own);
        }
    }
}

/// Returns the plan with the duration and the proximal term of its personal training.
fn personal_plan(plan: TrainingPlan) -> TrainingPlan {
    match plan.personal_training {
        None | Some(PersonalTraining::PFedMe { .. } | PersonalTraining::Apfl { .. }) => plan,
        Some(PersonalTraining::FedRep { epochs }) => TrainingPlan { epochs, proximal_term: 0.0, ..plan },
        Some(PersonalTraining::Ditto { lambda, epochs }) => {
            TrainingPlan { epochs, proximal_term: lambda, ..plan }
        }
    }
}
