//! Training on a GPU, with a fallback to the CPU when the GPU fails.

use folkmoot_gpu::{Gpu, GpuError, GpuTraining, KernelTime, TrainingDraft, TrainingSetting};
use folkmoot_graph::step::{Executor, StepData, StepRequest, block_on};
use folkmoot_protocol::Precision;

use super::{Trainer, step_request, step_rule};
use crate::augmentation::{AugmentedStep, Augmenter};
use crate::step::{StepForm, step_graph};
use crate::train::TrainError;
use folkmoot_loss::metrics::Metrics;

/// Training on the GPU, with the last state that the host has downloaded.
pub(crate) struct OnGpu {
    training: GpuTraining,
    /// Present if the plan changes examples, which are then uploaded for each submission.
    augmenter: Option<Augmenter>,
    /// The metrics and the loss at the time of the last download.
    metrics: Metrics,
    loss: f64,
}

impl Trainer {
    /// Continues training on this GPU from the current state. The weights are then on the GPU. [`Trainer::weights`],
    /// [`Trainer::checkpoint`] and the end of training download them.
    ///
    /// If the GPU fails later, training continues on the CPU from the last downloaded state, and [`Trainer::gpu_fault`]
    /// returns the reason. Results differ from those of the CPU by rounding. The same seed on the same adapter gives
    /// bit-identical results.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the GPU cannot run this plan, or its memory does not suffice. Training then stays
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
        let augmenter = Augmenter::of(&self.plan, &self.processor.source().model)?;
        self.gpu = Some(OnGpu { training, augmenter, metrics: self.metrics, loss: self.loss });
        self.left_out = 0;
        Ok(())
    }

    /// Continues on the GPU of another training, which moves back to the CPU first, so that its GPU memory is free. If the
    /// other one had failed there, this one stays on the CPU and has the same [`Trainer::gpu_fault`].
    ///
    /// # Errors
    /// As [`Trainer::use_gpu`].
    pub fn take_gpu_of(&mut self, other: &mut Self) -> Result<(), TrainError> {
        self.gpu_fault.clone_from(&other.gpu_fault);
        let Some(gpu) = other.gpu().cloned() else { return Ok(()) };
        other.bring_back();
        let used = self.use_gpu(&gpu);
        if let Err(TrainError::Gpu(fault)) = &used {
            self.gpu_fault = Some(fault.clone());
        }
        used
    }

    /// Returns the maximum GPU memory that training would need, in bytes, without allocating it.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the GPU cannot run the plan.
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
        // Report unsupported plans before building graphs.
        let reasons = [
            (
                self.companion.is_some(),
                "only the CPU can train two models in the same steps, as p_fed_me and apfl do",
            ),
            (self.plan.model_contrast.is_some(), "only the CPU can contrast a model with others"),
            (self.plan.small_loss_selection.is_some(), "only the CPU can select examples by their losses"),
        ];
        if let Some((_, why)) = reasons.into_iter().find(|(is_asked, _)| *is_asked) {
            let (adapter, why) = (gpu.report().name.clone(), why.to_owned());
            return Err(GpuError::Unsupported { adapter, why }.into());
        }
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

    /// Returns the GPU on which training runs, or `None` if it runs on the CPU.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref().map(|on_gpu| on_gpu.training.gpu())
    }

    /// Returns whether steps run on the CPU, and use its memory.
    pub(crate) fn is_on_cpu(&self) -> bool {
        self.gpu.is_none()
    }

    /// Returns why training moved back from a GPU to the CPU, if it did.
    pub fn gpu_fault(&self) -> Option<&GpuError> {
        self.gpu_fault.as_ref()
    }

    /// Returns the GPU memory that training holds, in bytes.
    pub fn gpu_memory_bytes(&self) -> u64 {
        self.gpu.as_ref().map_or(0, |on_gpu| on_gpu.training.memory_bytes())
    }

    /// Runs the next steps on the GPU, up to step `goal` or the size of a submission. If the GPU fails, training is on
    /// the CPU afterwards, possibly some steps back.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if a loss or a weight is no longer finite.
    pub(crate) async fn advance_on_gpu(&mut self, goal: u64) -> Result<(), TrainError> {
        let Some(on_gpu) = &self.gpu else { return Ok(()) };
        let first = self.metrics.step_count;
        let mut steps_max = on_gpu.training.steps_max();
        if on_gpu.augmenter.is_some() {
            // Changed examples take the places of the data set's.
            steps_max = steps_max.min(self.examples.len() / self.batches.full_batch()).max(1);
        }
        let end = goal.min(first + steps_max as u64);
        let requests = (first..end).map(|step| self.batch_request(step)).collect();
        self.run_on_gpu(requests).await
    }

    /// Returns the request for a step on its batch. It owns the rows, because the next step overwrites them.
    fn batch_request(&mut self, number: u64) -> StepRequest<'static> {
        let rows = self.batches.batch(number).to_vec().into();
        step_request(&self.plan, self.seed, number, rows)
    }

    pub(super) async fn run_on_gpu(&mut self, requests: Vec<StepRequest<'_>>) -> Result<(), TrainError> {
        let requests = self.augmented(requests);
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

    /// Changes the examples of these steps and uploads them, if the plan does so. Returns the requests for the changed examples, of which
    /// there may be no more than the data set has.
    fn augmented<'a>(&mut self, mut requests: Vec<StepRequest<'a>>) -> Vec<StepRequest<'a>> {
        let Some(OnGpu { training, augmenter: Some(augmenter), .. }) = &mut self.gpu else { return requests };
        let examples = &self.examples;
        let (mut features, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for request in &mut requests {
            let step = AugmentedStep { examples, rows: &request.rows, seed: request.seed };
            let first = [features.len(), labels.len()];
            let mut numbers = Vec::new();
            for row in request.rows.iter().copied() {
                let width = examples.feature_count();
                features.extend_from_slice(&examples.features()[row * width..(row + 1) * width]);
                examples.labels().numbers_of(row..row + 1, &mut numbers);
                labels.extend_from_slice(&numbers);
            }
            let (features, labels) = (&mut features[first[0]..], &mut labels[first[1]..]);
            augmenter.alter(step, 0..request.rows.len(), features, labels);
            let before = first[0] / examples.feature_count();
            weights.extend(request.rows.iter().filter_map(|row| Some(examples.weights()?[*row])));
            request.rows = (before..before + request.rows.len()).collect::<Vec<_>>().into();
        }
        let weights = examples.weights().map(|_| &weights[..]);
        training.replace_examples(StepData { features: &features, labels: &labels, weights });
        requests
    }

    /// Trains on the next batch on the GPU, and returns the time of each kernel.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::step`], and [`TrainError::Gpu`] if training is not on a GPU or the GPU has no
    /// timestamps.
    pub fn step_timed(&mut self) -> Result<Vec<KernelTime>, TrainError> {
        if self.progress().finished {
            return Ok(Vec::new());
        }
        let request = self.batch_request(self.metrics.step_count);
        let request = self.augmented(vec![request]).remove(0);
        let Some(on_gpu) = &mut self.gpu else { return Err(GpuError::NoAdapter.into()) };
        let (result, times) = block_on(on_gpu.training.run_timed(&request))?;
        self.count(&[result])?;
        Ok(times)
    }

    /// Downloads weights and state from the GPU. In a browser, call this before [`Trainer::checkpoint`],
    /// [`Trainer::weights`] and [`Trainer::finish`], which cannot wait there; otherwise they use an older state.
    pub async fn settle_async(&mut self) {
        self.fetch().await;
    }

    /// Downloads weights and state from the GPU, if they are newer there.
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

    /// [`Trainer::fetch`] for synchronous callers. In a browser, where nothing may block, the host keeps the state of
    /// the last download.
    pub(crate) fn settle(&mut self) {
        #[cfg(not(target_family = "wasm"))]
        block_on(self.fetch());
    }

    /// Returns the metrics and the loss that belong to the host's weights and state.
    pub(crate) fn settled(&self) -> (Metrics, f64) {
        self.gpu.as_ref().map_or((self.metrics, self.loss), |on_gpu| (on_gpu.metrics, on_gpu.loss))
    }

    /// Returns the error for a plan with mixed precision.
    pub(crate) fn no_half_precision(&self) -> TrainError {
        self.gpu_fault.clone().map_or(TrainError::NoHalfPrecision, TrainError::Gpu)
    }

    /// Moves training back to the CPU, with all that was trained on the GPU.
    pub(crate) fn bring_back(&mut self) {
        self.settle();
        if let Some(on_gpu) = self.gpu.take() {
            (self.metrics, self.loss) = (on_gpu.metrics, on_gpu.loss);
        }
    }

    /// Discards the GPU's state. If training is on a GPU, it moves back to the CPU.
    pub(crate) fn forget_gpu(&mut self) {
        (self.gpu, self.gpu_fault) = (None, None);
    }

    /// Moves training to the CPU after a GPU failure. Continues from the last downloaded state.
    fn leave_gpu(&mut self, error: GpuError) {
        if let Some(on_gpu) = self.gpu.take() {
            (self.metrics, self.loss) = (on_gpu.metrics, on_gpu.loss);
        }
        self.gpu_fault = Some(error);
    }
}
