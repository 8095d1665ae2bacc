//! A training that goes on on a graphics processor, and comes back to the CPU when that fails.

use folkmoot_gpu::{Gpu, GpuError, GpuTraining, KernelTime, TrainingDraft, TrainingSetting};
use folkmoot_graph::step::{Executor, StepData, StepRequest, block_on};
use folkmoot_protocol::Precision;

use super::{Trainer, step_request, step_rule};
use crate::metrics::Metrics;
use crate::step::{StepForm, step_graph};
use crate::train::TrainError;

/// The training on the device, and the last state of it that the host has.
pub(crate) struct OnGpu {
    training: GpuTraining,
    /// Sums and loss when weights and state were last the same on both sides.
    metrics: Metrics,
    loss: f64,
}

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
        let bytes = draft.memory_bytes() as usize;
        self.processor.limit(&self.host).check(self.batches.full_batch(), bytes)?;
        let rule = step_rule(&self.plan);
        let data = StepData {
            features: self.examples.features(),
            labels: &self.examples.labels().numbers(),
            weights: self.examples.weights(),
        };
        let training = GpuTraining::new(gpu, &rule, &draft, data, &self.host)?;
        self.gpu = Some(OnGpu { training, metrics: self.metrics, loss: self.loss });
        self.left_out = 0;
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
        let source = self.processor.source();
        let rule = step_rule(&self.plan);
        let setting = TrainingSetting {
            rule: &rule,
            examples: self.examples.len(),
            widths: [self.examples.feature_count(), self.examples.labels().per_example()],
            has_shares: source.has_shares,
            ranges: &source.parameters.ranges,
            is_corrected: self.host.correction.is_some(),
            steps_total: self.batches.steps_total(),
        };
        // What the device cannot do is said before graphs are built.
        setting.check(gpu)?;
        let (has_shares, has_scale) = (source.has_shares, rule.precision == Precision::Mixed);
        let batch_sizes = [self.batches.full_batch()].into_iter().chain(self.batches.last_batch());
        let graphs = batch_sizes.map(|batch_size| {
            let form = StepForm { batch_size, has_shares, has_scale, has_right: true };
            Ok((batch_size, step_graph(source, form)?))
        });
        let graphs = graphs.collect::<Result<_, TrainError>>()?;
        Ok(TrainingDraft::new(gpu, &setting, graphs)?)
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
        let requests = (first..end).map(|step| self.batch_request(step)).collect();
        self.run_on_gpu(requests).await
    }

    /// The request of a step on its batch. It owns the rows, because those of the next step take their place.
    fn batch_request(&mut self, number: u64) -> StepRequest<'static> {
        let rows = self.batches.batch(number).to_vec().into();
        step_request(&self.plan, self.seed, number, rows)
    }

    pub(super) async fn run_on_gpu(&mut self, requests: Vec<StepRequest<'_>>) -> Result<(), TrainError> {
        let Some(on_gpu) = &mut self.gpu else { return Ok(()) };
        match on_gpu.training.take(&requests, &mut self.host, &mut |_, _| {}).await {
            Ok(results) => self.count(&results)?,
            Err(error) => {
                self.leave_gpu(error);
                return Ok(());
            }
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
        let request = self.batch_request(self.metrics.step_count);
        let Some(on_gpu) = &mut self.gpu else { return Err(GpuError::NoAdapter.into()) };
        let (result, times) = block_on(on_gpu.training.run_timed(&request))?;
        self.count(&[result])?;
        Ok(times)
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
        match on_gpu.training.fetch(&mut self.host).await {
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
