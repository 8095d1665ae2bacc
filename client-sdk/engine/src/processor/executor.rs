//! The CPU executor: every step changes the host's weights directly.

use folkmoot_graph::step::{Executor, HostState, Observer, StepRequest, StepResult, StepRule};
use folkmoot_protocol::GradientClipping;

use super::ascent::Ascent;
use super::batch_program::BatchSource;
use super::clipping::norm_factor;
use super::gradients::{Beside, Gradients, Measured, StepInput};
use super::memory_limit::MemoryLimit;
use super::optimizer::{MatrixShape, Rule, StepNumber, rule as optimizer_rule};
use super::products::Products;
use super::recorded::Recorded;
use super::recorder::Recorder;
use super::references::References;
use super::second_order::{Method, SecondOrder};
use super::update::{Adjustment, UpdatedTensor, update_by};
use crate::augmentation::Augmenter;
use crate::batch::Batch;
use crate::examples::Examples;
use crate::model::Model;
use crate::step::{SecretChance, StepError, StepSource};
use folkmoot_loss::loss::Layout;

/// Runs steps on the CPU.
pub(crate) struct Processor {
    rule: StepRule,
    examples: Examples,
    gradients: Gradients,
    batch: Batch,
    optimizer: Rule,
    /// The shapes of the trained tensors.
    shapes: Vec<MatrixShape>,
    /// Room for the update of a tensor.
    workspace: Vec<f32>,
    /// Present if each step computes a second gradient.
    ascent: Option<Ascent>,
    /// Present if steps compare gradients at several weights.
    second_order: Option<SecondOrder>,
    /// Present if the plan changes examples.
    augmenter: Option<Augmenter>,
    /// Present if the plan contrasts the model with others.
    references: Option<References>,
    /// The random number generator of example privacy.
    chance: Option<Box<dyn SecretChance>>,
    /// The size of the training's other state, in bytes.
    beside: usize,
}

impl Processor {
    /// Compiles the step for full batches of `full_batch` examples. Its memory is allocated at the first run.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled, or the model does not allow per-example clipping.
    pub(crate) fn new(
        source: StepSource,
        rule: StepRule,
        examples: &Examples,
        full_batch: usize,
    ) -> Result<Self, StepError> {
        let weights = source.model.parameter_count();
        let references = References::of(&source, full_batch)?;
        let gradients = Gradients::new(BatchSource::new(source), &rule, full_batch)?;
        let (optimizer, shapes) = (optimizer_rule(rule.optimizer), gradients.trained_shapes());
        Ok(Self {
            rule,
            ascent: rule.sharpness_radius.map(|radius| Ascent::new(radius, weights)),
            second_order: SecondOrder::of(rule.optimizer, weights, gradients.trained_count()),
            examples: examples.clone(),
            batch: Batch::with_room_for(full_batch, examples),
            workspace: vec![0.0; optimizer.workspace_length(&shapes)],
            gradients,
            optimizer,
            shapes,
            augmenter: None,
            references,
            chance: None,
            beside: 0,
        })
    }

    /// Prepares for other examples, with batches of `full_batch` examples. `held` is the size of the host's state in
    /// bytes.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled within the plan's memory limit. Nothing has changed in
    /// that case.
    pub(crate) fn restart(
        &mut self,
        model: Model,
        layout: Layout,
        examples: &Examples,
        full_batch: usize,
        held: usize,
    ) -> Result<(), StepError> {
        let source = self.source();
        let has_shares = examples.weights().is_some();
        let batch_bytes = Batch::bytes_for(full_batch, examples);
        let held = held + batch_bytes + self.kept_bytes();
        let limit = MemoryLimit { held, bytes_max: self.rule.memory_bytes_max };
        if model.is_same(&source.model) && layout == source.layout && has_shares == source.has_shares {
            self.gradients.restart(full_batch, limit)?;
        } else {
            let step = StepSource { model, layout, has_shares, ..source.clone() };
            let references = References::of(&step, full_batch)?;
            let source = BatchSource { step, ..self.gradients.source().clone() };
            let gradients = Gradients::new(source, &self.rule, full_batch)?;
            limit.check(full_batch, gradients.memory_bytes())?;
            (self.gradients, self.references) = (gradients, references);
        }
        self.contrast_with(&[]);
        if self.batch.memory_bytes() != batch_bytes {
            self.batch = Batch::with_room_for(full_batch, examples);
        }
        self.examples = examples.clone();
        Ok(())
    }

    /// Sets the number of threads for a step.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled.
    pub(crate) fn set_threads(&mut self, threads: usize, full_batch: usize) -> Result<(), StepError> {
        let source = BatchSource { threads: threads.max(1), ..self.gradients.source().clone() };
        self.gradients = Gradients::new(source, &self.rule, full_batch)?;
        Ok(())
    }

    /// Records the outer products of these matrices over a training run that sees this many examples. Records nothing
    /// if the memory that the host's state leaves free does not suffice.
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

    /// Starts recording a training run that sees this many examples, if any matrices are recorded.
    pub(crate) fn record(&mut self, examples: u64) {
        self.gradients.record(examples);
    }

    /// Returns the recorder, if outer products are recorded.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.gradients.recorder()
    }

    /// Changes the examples of each later step.
    pub(crate) fn augment(&mut self, augmenter: Option<Augmenter>) {
        self.augmenter = augmenter;
    }

    /// Contrasts each later step with the client's last local model, if the plan has a contrast. `previous` is empty if
    /// the client has no such model.
    pub(crate) fn contrast_with(&mut self, previous: &[f32]) {
        if let Some(references) = &mut self.references {
            references.set_previous(previous);
        }
    }

    /// Sets the random number generator for the sampling and noise of example privacy.
    pub(crate) fn set_chance(&mut self, chance: Box<dyn SecretChance>) {
        self.chance = Some(chance);
    }

    /// Returns the random number generator of example privacy, if it was set.
    pub(crate) fn chance(&mut self) -> Option<&mut (dyn SecretChance + 'static)> {
        self.chance.as_deref_mut()
    }

    /// Returns the source of the step's graph.
    pub(crate) fn source(&self) -> &StepSource {
        &self.gradients.source().step
    }

    /// Returns the number of threads for a step.
    #[cfg(feature = "gpu")]
    pub(crate) fn threads(&self) -> usize {
        self.gradients.source().threads
    }

    /// Returns the size of the optimizer's state for all trained weights, in numbers.
    pub(crate) fn state_length(&self) -> usize {
        self.shapes.iter().map(|shape| self.optimizer.state_length(*shape)).sum()
    }

    /// Returns the number of bytes that the batch buffers take.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.batch.memory_bytes()
    }

    /// Returns the number of bytes that the copy of the weights for a second gradient, the optimizer's workspace, mixup, the contrast with
    /// other models, and the state of another model take.
    pub(crate) fn kept_bytes(&self) -> usize {
        let augmented = self.augmenter.as_ref().map_or(0, Augmenter::memory_bytes);
        let ascent = self.ascent.as_ref().map_or(0, Ascent::memory_bytes);
        let second_order = self.second_order.as_ref().map_or(0, SecondOrder::memory_bytes);
        let references = self.references.as_ref().map_or(0, References::memory_bytes);
        let workspace = size_of_val(&self.workspace[..]);
        ascent + second_order + workspace + augmented + references + self.beside
    }

    /// Counts the state of another model, in bytes, toward the memory limit.
    pub(crate) fn keep_beside(&mut self, bytes: usize) {
        self.beside = bytes;
    }

    /// Returns the number of bytes that all compiled programs take.
    pub(crate) fn program_bytes(&self) -> usize {
        self.gradients.memory_bytes()
    }

    /// Returns the memory limit for compiled steps, beside the host's state and the batch.
    pub(crate) fn limit(&self, host: &HostState) -> MemoryLimit {
        let held = host.memory_bytes() + self.batch.memory_bytes() + self.kept_bytes();
        MemoryLimit { held, bytes_max: self.rule.memory_bytes_max }
    }

    /// Runs a step and calls `observe` after each operator.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step is not compiled yet and cannot be compiled within the plan's memory limit.
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

    /// Computes the gradient of a step. With sharpness-aware minimisation, it is the second gradient; loss, metrics and
    /// running statistics come from the first.
    fn compute(
        &mut self,
        request: &StepRequest<'_>,
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Measured, StepError> {
        let (rows, limit) = (&*request.rows, self.limit(host));
        let input = StepInput { examples: &self.examples, rows, seed: request.seed, limit };
        let HostState { weights, starting_weights, optimizer_state, .. } = host;
        let batch = &mut self.batch;
        let mut beside = Beside {
            augmenter: self.augmenter.as_mut(),
            references: self.references.as_mut().map(|references| (references, &starting_weights[..])),
        };
        let measured = self.gradients.run(&input, batch, &mut beside, weights, observe)?;
        if let Some(ascent) = &mut self.ascent
            && ascent.climb(self.gradients.gradients(), weights)
        {
            observe("climb", 0);
            let second = self.gradients.run(&input, batch, &mut beside, weights, observe);
            ascent.descend(weights);
            second?;
        }
        let due = self.second_order.as_mut().filter(|one| one.is_due(request.number));
        if let Some(SecondOrder { probe, method }) = due {
            probe.keep(weights, self.gradients.gradients().map(|(range, _)| range));
            let mut products =
                Products { gradients: &mut self.gradients, batch, input, beside: &mut beside, probe };
            let gradient = match method {
                Method::Newton(newton) => {
                    products.newton_step(newton, request, measured.loss, weights, observe)
                }
                Method::Sophia(curvature) => {
                    let state = (&self.shapes[..], &mut optimizer_state[..]);
                    products.note_curvature(*curvature, request.seed, state, weights, observe)
                }
            };
            weights.copy_from_slice(probe.kept());
            self.gradients.replace(&gradient?);
        }
        Ok(measured)
    }

    /// Returns the integer sums over these examples before noise, and the sensitivity: the maximum change of a sum by
    /// one example.
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

    /// Applies the step's gradient, and returns whether all trained weights are finite.
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
        let factor = -f64::from(step.learning_rate) * f64::from(scale);
        let (mut state, mut is_finite) = (&mut host.optimizer_state[..], true);
        let (rule, weights, workspace) = (&self.optimizer, &mut host.weights, &mut self.workspace);
        for ((range, gradient), shape) in gradients.zip(self.shapes.iter().copied()) {
            let (own, others) = state.split_at_mut(rule.state_length(shape));
            state = others;
            let workspace = &mut *workspace;
            let tensor = UpdatedTensor { range, shape, gradient, state: own, workspace };
            is_finite &= update_by(rule, step, &adjustment, tensor, weights);
        }
        self.gradients.source().step.parameters.constrain(request.learning_rate, &mut host.weights);
        self.gradients.conclude(factor);
        is_finite
    }
}

impl Executor for Processor {
    type Error = StepError;

    /// Returns 1, so that training can be stopped after any step.
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

    /// Does nothing: steps change the host's state directly.
    async fn fetch(&mut self, _: &mut HostState) -> Result<(), StepError> {
        Ok(())
    }
}
