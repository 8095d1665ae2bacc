//! The processor as an executor: every step changes the weights that the host has.

use folkmoot_graph::step::{Executor, HostState, Observer, StepRequest, StepResult, StepRule};
use folkmoot_protocol::GradientClipping;

use super::batch_program::BatchSource;
use super::clipping::norm_factor;
use super::gradients::{Gradients, Measured, StepInput};
use super::memory_limit::MemoryLimit;
use super::optimizer::{Optimizer, StepNumber, optimizer};
use super::recorded::Recorded;
use super::recorder::Recorder;
use super::update::{Adjustment, update_tensor};
use crate::batch::Batch;
use crate::examples::Examples;
use crate::loss::Layout;
use crate::step::{SecretChance, StepError, StepSource};

/// Takes steps on the processor.
pub(crate) struct Processor {
    rule: StepRule,
    examples: Examples,
    gradients: Gradients,
    batch: Batch,
    optimizer: Box<dyn Optimizer>,
    /// For example privacy.
    chance: Option<Box<dyn SecretChance>>,
}

impl Processor {
    /// Compiles the step of full batches, of `full_batch` examples. Its memory is taken when it first runs.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled, or per-example clipping does not go with the model.
    pub(crate) fn new(
        source: StepSource,
        rule: StepRule,
        examples: &Examples,
        full_batch: usize,
    ) -> Result<Self, StepError> {
        Ok(Self {
            rule,
            examples: examples.clone(),
            gradients: Gradients::new(BatchSource::new(source), &rule, full_batch)?,
            batch: Batch::with_room_for(full_batch, examples),
            optimizer: optimizer(rule.optimizer),
            chance: None,
        })
    }

    /// Makes ready for other examples, of which `full_batch` are computed at once. `held` are the bytes of the host's state.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step of such a batch cannot be compiled in the memory that the plan allows. Nothing
    /// has changed then.
    pub(crate) fn restart(
        &mut self,
        layout: Layout,
        examples: &Examples,
        full_batch: usize,
        held: usize,
    ) -> Result<(), StepError> {
        let source = self.source();
        let has_shares = examples.weights().is_some();
        let batch_bytes = Batch::bytes_for(full_batch, examples);
        let limit = MemoryLimit { held: held + batch_bytes, bytes_max: self.rule.memory_bytes_max };
        if layout == source.layout && has_shares == source.has_shares {
            self.gradients.restart(full_batch, limit)?;
        } else {
            let step = StepSource { layout, has_shares, ..source.clone() };
            let source = BatchSource { step, ..self.gradients.source().clone() };
            let gradients = Gradients::new(source, &self.rule, full_batch)?;
            limit.check(full_batch, gradients.memory_bytes())?;
            self.gradients = gradients;
        }
        if self.batch.memory_bytes() != batch_bytes {
            self.batch = Batch::with_room_for(full_batch, examples);
        }
        self.examples = examples.clone();
        Ok(())
    }

    /// Lets a step work on so many threads.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled.
    pub(crate) fn set_threads(&mut self, threads: usize, full_batch: usize) -> Result<(), StepError> {
        let source = BatchSource { threads: threads.max(1), ..self.gradients.source().clone() };
        self.gradients = Gradients::new(source, &self.rule, full_batch)?;
        Ok(())
    }

    /// Records the outer products of these matrices over a training that sees so many examples, if there is memory for it
    /// besides the host's state.
    pub(crate) fn record_matrices(
        &mut self,
        recorded: Vec<Recorded>,
        examples: u64,
        full_batch: usize,
        host: &HostState,
    ) {
        let source = self.gradients.source();
        if recorded.iter().all(|one| source.recorded.contains(one)) {
            return;
        }
        let source = BatchSource { recorded, ..source.clone() };
        let Ok(mut gradients) = Gradients::new(source, &self.rule, full_batch) else { return };
        gradients.record(examples);
        if self.limit(host).check(full_batch, gradients.memory_bytes()).is_ok() {
            self.gradients = gradients;
        }
    }

    /// Begins to record a training that sees so many examples, if anything is to be recorded.
    pub(crate) fn record(&mut self, examples: u64) {
        self.gradients.record(examples);
    }

    /// The recorder, if outer products are recorded.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.gradients.recorder()
    }

    /// Sets the chance from which example privacy draws its coins and its noise.
    pub(crate) fn set_chance(&mut self, chance: Box<dyn SecretChance>) {
        self.chance = Some(chance);
    }

    /// The chance from which example privacy draws its coins and its noise, if it was set.
    pub(crate) fn chance(&mut self) -> Option<&mut (dyn SecretChance + 'static)> {
        self.chance.as_deref_mut()
    }

    /// The source of the graph of a step.
    pub(crate) fn source(&self) -> &StepSource {
        &self.gradients.source().step
    }

    /// Threads of a step.
    #[cfg(feature = "gpu")]
    pub(crate) fn threads(&self) -> usize {
        self.gradients.source().threads
    }

    /// Numbers that the optimizer keeps, of all trained weights together.
    pub(crate) fn slots(&self) -> usize {
        self.optimizer.slots() * self.gradients.trained_count()
    }

    /// Bytes of the buffers into which a batch is copied.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.batch.memory_bytes()
    }

    /// Bytes of everything compiled.
    pub(crate) fn program_bytes(&self) -> usize {
        self.gradients.memory_bytes()
    }

    /// The memory that compiled steps may take besides the host's state and the batch.
    pub(crate) fn limit(&self, host: &HostState) -> MemoryLimit {
        let held = host.memory_bytes() + self.batch.memory_bytes();
        MemoryLimit { held, bytes_max: self.rule.memory_bytes_max }
    }

    /// Takes a step, and tells `observe` of each operation after it has run.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step is not yet compiled and cannot be in the memory that the plan allows.
    fn step(
        &mut self,
        request: &StepRequest<'_>,
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<StepResult, StepError> {
        let Measured { loss, correct_count, example_count } = self.compute(request, host, observe)?;
        if let (Some(_), Some(chance)) = (self.rule.privacy, &mut self.chance) {
            self.gradients.release(&mut **chance);
            observe("noise", 0);
        }
        let is_finite = self.update(request, host);
        observe("update", 0);
        Ok(StepResult { loss, correct_count, example_count, is_finite, is_left_out: false })
    }

    /// Computes the gradient of a step.
    fn compute(
        &mut self,
        request: &StepRequest<'_>,
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Measured, StepError> {
        let (rows, limit) = (&*request.rows, self.limit(host));
        let input = StepInput { examples: &self.examples, rows, seed: request.seed, limit };
        self.gradients.run(&input, &mut self.batch, &mut host.weights, observe)
    }

    /// The sum of integers over these examples before its noise, and the most that an example changes it by.
    #[cfg(test)]
    pub(crate) fn private_sum(
        &mut self,
        request: &StepRequest<'_>,
        host: &mut HostState,
    ) -> Result<(Vec<i64>, u64), StepError> {
        self.compute(request, host, &mut |_, _| {})?;
        let (sums, norm_steps) = self.gradients.private_sum();
        Ok((sums.to_vec(), norm_steps))
    }

    /// Applies the step's gradient, and says whether all trained weights are finite.
    fn update(&mut self, request: &StepRequest<'_>, host: &mut HostState) -> bool {
        let gradients = self.gradients.gradients();
        let (scale, value_max) = match self.rule.clipping {
            Some(GradientClipping::Norm(bound)) => {
                (norm_factor(gradients.clone().map(|(_, gradient)| gradient), bound), f32::INFINITY)
            }
            Some(GradientClipping::Value(bound)) => (1.0, bound),
            Some(GradientClipping::PerExampleNorm(_)) | None => (1.0, f32::INFINITY),
        };
        let adjustment = Adjustment {
            scale,
            value_max,
            proximal_term: self.rule.proximal_term,
            starting_weights: &host.starting_weights,
            correction: host.correction.as_deref(),
        };
        let step = StepNumber { number: request.number + 1, learning_rate: request.learning_rate };
        let (slots, factor) = (self.optimizer.slots(), -f64::from(step.learning_rate) * f64::from(scale));
        let (mut state, mut is_finite) = (&mut host.optimizer_state[..], true);
        for (range, gradient) in gradients {
            let (own, others) = state.split_at_mut(slots * range.len());
            state = others;
            let optimizer = &*self.optimizer;
            is_finite &= update_tensor(optimizer, step, &adjustment, range, &mut host.weights, gradient, own);
        }
        self.gradients.conclude(factor);
        is_finite
    }
}

impl Executor for Processor {
    type Error = StepError;

    /// One, so that a training can be stopped after any.
    fn steps_max(&self) -> usize {
        1
    }

    async fn take(
        &mut self,
        requests: &[StepRequest<'_>],
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Vec<StepResult>, StepError> {
        requests.iter().map(|request| self.step(request, host, observe)).collect()
    }

    /// The host's state is the one that steps change.
    async fn fetch(&mut self, _: &mut HostState) -> Result<(), StepError> {
        Ok(())
    }
}
