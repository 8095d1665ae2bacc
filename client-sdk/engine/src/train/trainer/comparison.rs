//! Is a training faster on the CPU or on a device? Small models are faster on the CPU.

use std::time::Duration;

use folkmoot_gpu::{Clock, Gpu};
use folkmoot_graph::step::block_on;
use folkmoot_protocol::Precision;

use super::Trainer;
use crate::train::TrainError;

/// Steps that are measured, at most.
const STEPS_MAX: u64 = 16;
/// When enough has been measured.
const MEASURED: Duration = Duration::from_millis(100);

/// How long a step of a training takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// On the CPU. `None` if it cannot run the plan.
    pub cpu: Option<Duration>,
    /// On the device.
    pub gpu: Duration,
}

impl Comparison {
    /// Whether the device is faster.
    pub fn prefers_gpu(&self) -> bool {
        self.cpu.is_none_or(|cpu| self.gpu < cpu)
    }
}

impl Trainer {
    /// Measures a few steps of this plan on the CPU and on a device. The training itself does not move.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the device cannot run the plan, or the first steps diverge.
    pub fn compare(&self, gpu: &Gpu, clock: Clock<'_>) -> Result<Comparison, TrainError> {
        block_on(self.compare_async(gpu, clock))
    }

    /// As [`Trainer::compare`], for a browser, where nothing may block.
    ///
    /// # Errors
    /// Those of [`Trainer::compare`].
    pub async fn compare_async(&self, gpu: &Gpu, clock: Clock<'_>) -> Result<Comparison, TrainError> {
        // What the device cannot run need not be measured.
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

    /// The same training from its beginning, without an end.
    fn trial(&self) -> Result<Self, TrainError> {
        let plan = folkmoot_protocol::TrainingPlan { epochs: u32::MAX, steps_max: None, ..self.plan.clone() };
        let model = &self.processor.source().model;
        let mut trial = Self::new(model, &self.host.starting_weights, plan, &self.examples, self.seed)?;
        trial.set_threads(self.processor.threads())?;
        trial.host.correction.clone_from(&self.host.correction);
        Ok(trial)
    }

    /// The time of a step, without that of the first, which compiles.
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
