//! A step on the processor: the gradient of its examples, then the update of the weights.

use folkmoot_protocol::{GradientClipping, Precision};

use super::{Progress, Trainer};
use crate::metrics::Metrics;
use crate::processor::Observer;
use crate::processor::StepNumber;
use crate::processor::norm_factor;
use crate::processor::{Adjustment, update_tensor};
use crate::processor::{Measured, StepInput};
use crate::random::step_seed;
use crate::train::TrainError;
use crate::train::learning_rate::learning_rate;

impl Trainer {
    /// Trains on the examples of the next step on the CPU, and tells `observe` of each operation after it has run: its
    /// name, and its floating-point operations, 0 where they are not counted. From the times between the calls a profile
    /// can be made.
    ///
    /// # Errors
    /// Those of [`Trainer::step`].
    pub fn step_observed(
        &mut self,
        observe: &mut dyn FnMut(&'static str, u64),
    ) -> Result<Progress, TrainError> {
        if self.progress().finished {
            return Ok(self.progress());
        }
        self.expect_single_precision()?;
        if self.plan.example_privacy.is_some() {
            return self.step_privately(observe);
        }
        let (step, limit) = (self.metrics.step_count, self.memory_limit());
        let seed = step_seed(self.seed, step);
        let input = StepInput { examples: &self.examples, rows: self.batches.batch(step), seed, limit };
        let measured = self.steps.run(&input, &mut self.batch, &mut self.weights, observe)?;
        self.conclude(measured, observe)
    }

    /// Trains in one step on these examples, all of which exist.
    pub(crate) fn train_on(&mut self, rows: &[usize]) -> Result<Progress, TrainError> {
        self.expect_single_precision()?;
        let (seed, limit) = (step_seed(self.seed, self.metrics.step_count), self.memory_limit());
        let input = StepInput { examples: &self.examples, rows, seed, limit };
        let observe: Observer<'_> = &mut |_, _| {};
        let measured = self.steps.run(&input, &mut self.batch, &mut self.weights, observe)?;
        self.conclude(measured, observe)
    }

    fn expect_single_precision(&self) -> Result<(), TrainError> {
        match self.plan.precision {
            Precision::Single => Ok(()),
            Precision::Mixed => Err(self.no_half_precision()),
        }
    }

    /// Updates the weights with the gradient of a step, and counts it.
    pub(crate) fn conclude(
        &mut self,
        measured: Measured,
        observe: Observer<'_>,
    ) -> Result<Progress, TrainError> {
        let is_finite = self.update();
        observe("update", 0);
        let Measured { loss, correct_count, example_count } = measured;
        if example_count > 0 {
            self.loss = loss;
        }
        self.metrics +=
            Metrics { example_count, loss_sum: loss * example_count as f64, correct_count, step_count: 1 };
        if !is_finite || !loss.is_finite() {
            return Err(TrainError::Diverged { step: self.metrics.step_count });
        }
        Ok(self.progress())
    }

    /// Applies the step's gradient, and says whether all trained weights are finite.
    fn update(&mut self) -> bool {
        let step = self.metrics.step_count;
        let gradients = self.steps.gradients();
        let (scale, value_max) = match self.plan.gradient_clipping {
            Some(GradientClipping::Norm(bound)) => {
                (norm_factor(gradients.clone().map(|(_, gradient)| gradient), bound), f32::INFINITY)
            }
            Some(GradientClipping::Value(bound)) => (1.0, bound),
            Some(GradientClipping::PerExampleNorm(_)) | None => (1.0, f32::INFINITY),
        };
        let adjustment = Adjustment {
            scale,
            value_max,
            proximal_term: self.plan.proximal_term,
            starting_weights: &self.starting_weights,
            correction: self.gradient_correction.as_deref(),
        };
        let step = StepNumber { number: step + 1, learning_rate: learning_rate(&self.plan, step) };
        let (slots, factor) = (self.optimizer.slots(), -f64::from(step.learning_rate) * f64::from(scale));
        let (mut state, mut is_finite) = (&mut self.state[..], true);
        for (range, gradient) in gradients {
            let (own, others) = state.split_at_mut(slots * range.len());
            state = others;
            let optimizer = &*self.optimizer;
            is_finite &= update_tensor(optimizer, step, &adjustment, range, &mut self.weights, gradient, own);
        }
        self.steps.conclude(factor);
        is_finite
    }
}
