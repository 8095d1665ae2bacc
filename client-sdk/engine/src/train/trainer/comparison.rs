//! Measures whether training is faster on the CPU or on a GPU. Small models are faster on the CPU.

use std::time::Duration;

use folkmoot_gpu::{Clock, Gpu};
use folkmoot_graph::step::block_on;
use folkmoot_protocol::Precision;

use super::Trainer;
use crate::train::TrainError;

/// The maximum number of measured steps.
const STEPS_MAX: u64 = 16;
/// The measurement ends after this time.
const MEASURED: Duration = Duration::from_millis(100);

/// The time of a training step on each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// The time on the CPU; `None` if the CPU cannot run the plan.
    pub cpu: Option<Duration>,
    /// The time on the GPU.
    pub gpu: Duration,
}

impl Comparison {
    /// Returns whether the GPU is faster, or the CPU cannot run the plan.
    pub fn prefers_gpu(&self) -> bool {
        self.cpu.is_none_or(|cpu| self.gpu < cpu)
    }
}

impl Trainer {
    /// Measures the time of a few steps of this plan on the CPU and on a GPU. The training itself neither moves nor
    /// advances.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the GPU cannot run the plan, or the first steps diverge.
    pub fn compare(&self, gpu: &Gpu, clock: Clock<'_>) -> Result<Comparison, TrainError> {
        block_on(self.compare_async(gpu, clock))
    }

    /// Like [`Trainer::compare`], for browsers, where nothing may block.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::compare`].
    pub async fn compare_async(&self, gpu: &Gpu, clock: Clock<'_>) -> Result<Comparison, TrainError> {
        // Check first whether the GPU can run the plan, because a measurement on the CPU alone would be useless.
        self.gpu_memory_needed(gpu)?;
        let cpu = match self.plan.precision {
            Precision::Mixed => None,
            Precision::Single => Some(self.trial()?.step_time(clock).await?),
        };
        let mut trial = self.trial()?;
        trial.use_gpu(gpu)?;
        let gpu = trial.step_time(clock).await?;
        match trial.gpu_fault() {
            Some(fault) => Err(fault.clone().into()),
            None => Ok(Comparison { cpu, gpu }),
        }
    }

    /// Returns a copy of the training from its beginning, without a step limit.
    fn trial(&self) -> Result<Self, TrainError> {
        let plan = folkmoot_protocol::TrainingPlan { epochs: u32::MAX, steps_max: None, ..self.plan.clone() };
        let model = &self.processor.source().model;
        let mut trial =
            Self::of(self.phase, model, &self.host.starting_weights, plan, &self.examples, self.seed)?;
        trial.set_threads(self.processor.threads())?;
        trial.host.correction.clone_from(&self.host.correction);
        Ok(trial)
    }

    /// Returns the mean time of a step. Excludes the first step, because it compiles the program.
    async fn step_time(&mut self, clock: Clock<'_>) -> Result<Duration, TrainError> {
        self.advance_async(1).await?;
        let (begin, first) = (clock(), self.progress().step);
        let mut steps = 1;
        while self.progress().step - first < STEPS_MAX && clock().saturating_sub(begin) < MEASURED {
            self.advance_async(steps).await?;
            steps = (2 * steps).min(STEPS_MAX);
        }
        let taken = (self.progress().step - first).max(1);
        Ok(clock().saturating_sub(begin) / taken as u32)
    }
}
