//! A training that goes on on a graphics processor, and comes back to the CPU when that fails.

use super::Trainer;
use super::advance::block_on;
use crate::gpu::{Gpu, GpuError, GpuTraining, HostState, KernelTime, StepRequest, StepResult, TrainingDraft};
use crate::metrics::Metrics;
use crate::train::TrainError;

/// The training on the device, and the last state of it that the host has.
pub(crate) struct OnGpu {
    training: GpuTraining,
    /// Sums and loss when weights and state were last the same on both sides.
    metrics: Metrics,
    loss: f64,
    /// The steps since the last that was not left out.
    left_out: u32,
}

/// Steps that may be left out one after the other because gradients overflow with 16 bits: twice as many as take the
/// loss scale from its largest to its smallest.
const LEFT_OUT_MAX: u32 = 64;

impl Trainer {
    /// Goes on on this device, from the state in which the training is. The weights then live there, and come back with
    /// [`Trainer::weights`], [`Trainer::checkpoint`] and the end of the training.
    ///
    /// If the device fails later, the training goes on on the CPU from the last state that came back, and
    /// [`Trainer::gpu_fault`] says why. Results differ from those of the CPU by rounding; the same seed on the same
    /// adapter gives the same bytes.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the device cannot run this plan, or there is no memory for it. The training is then
    /// where it was.
    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), TrainError> {
        self.bring_back();
        let draft = self.draft(gpu)?;
        self.memory_limit().check(self.batches.full_batch(), draft.memory_bytes() as usize)?;
        let correction = self.gradient_correction.as_deref();
        let training =
            GpuTraining::new(gpu, &self.plan, &draft, &self.examples, correction, &self.starting_weights)?;
        training.upload(&self.weights, &self.state);
        self.gpu = Some(OnGpu { training, metrics: self.metrics, loss: self.loss, left_out: 0 });
        Ok(())
    }

    /// Bytes of a device's memory that the training would need at most. Nothing is taken for the answer.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the device cannot run the plan.
    pub fn gpu_memory_needed(&self, gpu: &Gpu) -> Result<u64, TrainError> {
        Ok(self.draft(gpu)?.memory_bytes())
    }

    fn draft(&self, gpu: &Gpu) -> Result<TrainingDraft, TrainError> {
        let mut batch_sizes = vec![self.batches.full_batch()];
        batch_sizes.extend(self.batches.last_batch());
        let (source, is_corrected) = (self.steps.source(), self.gradient_correction.is_some());
        TrainingDraft::new(gpu, source, &self.plan, &batch_sizes, &self.examples, is_corrected)
    }

    /// The device on which the training runs, unless that is the CPU.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref().map(|on_gpu| on_gpu.training.gpu())
    }

    /// Whether steps run on the CPU, and hold memory there.
    pub(crate) fn is_on_cpu(&self) -> bool {
        self.gpu.is_none()
    }

    /// Why the training came back from a device to the CPU, if it did.
    pub fn gpu_fault(&self) -> Option<&GpuError> {
        self.gpu_fault.as_ref()
    }

    /// Bytes of the device's memory that the training holds.
    pub fn gpu_memory_bytes(&self) -> u64 {
        self.gpu.as_ref().map_or(0, |on_gpu| on_gpu.training.memory_bytes())
    }

    /// Runs the next steps on the device, up to step `goal` or a submission. If the device fails the training is on the
    /// CPU afterwards, and perhaps some steps back.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if a loss or a weight is no longer finite.
    pub(crate) async fn advance_on_gpu(&mut self, goal: u64) -> Result<(), TrainError> {
        let Some(on_gpu) = &self.gpu else { return Ok(()) };
        let first = self.metrics.step_count;
        let end = goal.min(first + on_gpu.training.steps_max() as u64);
        let requests = (first..end).map(|step| self.request(step)).collect();
        self.run_on_gpu(requests).await
    }

    pub(crate) async fn run_on_gpu(&mut self, requests: Vec<StepRequest>) -> Result<(), TrainError> {
        let Some(on_gpu) = &mut self.gpu else { return Ok(()) };
        let results = match on_gpu.training.run(&requests).await {
            Ok(results) => results,
            Err(error) => {
                self.leave_gpu(error);
                return Ok(());
            }
        };
        for (request, result) in requests.iter().zip(results) {
            self.add_result(request, result)?;
        }
        if self.progress().finished {
            self.fetch().await;
        }
        Ok(())
    }

    /// Trains on the next batch on the device, and says how long each kernel took there.
    ///
    /// # Errors
    /// Those of [`Trainer::step`]; and [`TrainError::Gpu`] if the training is not on a device, or that has no timestamps.
    pub fn step_timed(&mut self) -> Result<Vec<KernelTime>, TrainError> {
        if self.progress().finished {
            return Ok(Vec::new());
        }
        let request = self.request(self.metrics.step_count);
        let Some(on_gpu) = &mut self.gpu else { return Err(GpuError::NoAdapter.into()) };
        let (result, times) = block_on(on_gpu.training.run_timed(&request))?;
        self.add_result(&request, result)?;
        Ok(times)
    }

    fn add_result(&mut self, request: &StepRequest, result: StepResult) -> Result<(), TrainError> {
        let examples = request.rows.len() as u64;
        self.loss = f64::from(result.loss);
        self.metrics += Metrics {
            example_count: examples,
            loss_sum: self.loss * examples as f64,
            correct_count: u64::from(result.correct),
            step_count: 1,
        };
        let Some(on_gpu) = &mut self.gpu else { return Ok(()) };
        on_gpu.left_out = if result.is_left_out { on_gpu.left_out + 1 } else { 0 };
        // A left-out step may have any loss; a scale that is small enough comes after some of them, or never.
        let is_sound = match result.is_left_out {
            true => on_gpu.left_out < LEFT_OUT_MAX,
            false => result.is_finite && result.loss.is_finite(),
        };
        match is_sound {
            true => Ok(()),
            false => Err(TrainError::Diverged { step: self.metrics.step_count }),
        }
    }

    /// Brings weights and state back from the device, so that [`Trainer::checkpoint`], [`Trainer::weights`] and
    /// [`Trainer::finish`] have those of now in a browser too, where they cannot wait.
    pub async fn settle_async(&mut self) {
        self.fetch().await;
    }

    /// Brings weights and state back from the device, if they are newer there.
    pub(crate) async fn fetch(&mut self) {
        let Some(on_gpu) = &mut self.gpu else { return };
        if on_gpu.metrics.step_count == self.metrics.step_count {
            return;
        }
        let host = HostState { weights: &mut self.weights, state: &mut self.state };
        match on_gpu.training.download(host).await {
            Ok(()) => (on_gpu.metrics, on_gpu.loss) = (self.metrics, self.loss),
            Err(error) => self.leave_gpu(error),
        }
    }

    /// [`Trainer::fetch`] for callers that do not wait. In a browser, where nothing may block, the host's state stays that
    /// which was fetched last.
    pub(crate) fn settle(&mut self) {
        #[cfg(not(target_family = "wasm"))]
        block_on(self.fetch());
    }

    /// Sums and loss of the weights and the state that the host has.
    pub(crate) fn settled(&self) -> (Metrics, f64) {
        self.gpu.as_ref().map_or((self.metrics, self.loss), |on_gpu| (on_gpu.metrics, on_gpu.loss))
    }

    /// Why a plan with mixed precision does not run here.
    pub(crate) fn no_half_precision(&self) -> TrainError {
        self.gpu_fault.clone().map_or(TrainError::NoHalfPrecision, TrainError::Gpu)
    }

    /// Ends the stay on a device, with all that was trained there.
    pub(crate) fn bring_back(&mut self) {
        self.settle();
        if let Some(on_gpu) = self.gpu.take() {
            (self.metrics, self.loss) = (on_gpu.metrics, on_gpu.loss);
        }
    }

    /// Ends the stay on a device, if there is one, and leaves there what was trained.
    pub(crate) fn forget_gpu(&mut self) {
        (self.gpu, self.gpu_fault) = (None, None);
    }

    /// Goes back to the last state that the host has, to go on from there on the CPU.
    fn leave_gpu(&mut self, error: GpuError) {
        if let Some(on_gpu) = self.gpu.take() {
            (self.metrics, self.loss) = (on_gpu.metrics, on_gpu.loss);
        }
        self.gpu_fault = Some(error);
    }
}
