//! The training loop, driven by the caller step by step.

mod advance;
mod chosen;
mod companion;
#[cfg(feature = "gpu")]
mod comparison;
mod contrast;
#[cfg(not(feature = "gpu"))]
mod no_gpu;
#[cfg(feature = "gpu")]
mod on_gpu;
mod on_processor;
mod personal;
mod private;
mod recording;
mod restart;
mod resume;
mod rule;

use std::borrow::Cow;

use companion::Companion;
#[cfg(feature = "gpu")]
pub use comparison::Comparison;
use folkmoot_graph::random::step_seed;
use folkmoot_graph::step::{HostState, StepRequest, StepResult};
use folkmoot_protocol::{
    OuterProducts, TrainingPlan,
    update::sums::{FineTuned, MetricSums},
};
#[cfg(feature = "gpu")]
use on_gpu::OnGpu;
use rule::step_rule;

use super::batches::BatchOrder;
use super::difficulty::Difficulty;
use super::learning_rate::learning_rate;
use super::{TrainError, TrainedPart, TrainingMemory};
use crate::augmentation::{Augmenter, fitted_for};
use crate::examples::Examples;
use crate::fit::{FitError, check_class_weights, check_weights};
use crate::model::Model;
use crate::processor::Processor;
use crate::step::{Parameters, Phase, StepSource};
use folkmoot_loss::loss::Objective;
use folkmoot_loss::metrics::Metrics;

/// The progress of training after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The number of completed steps.
    pub step: u64,
    /// The number of steps in the whole training run.
    pub steps_total: u64,
    /// The mean loss of the last step's examples, before the update.
    pub loss: f64,
    /// True if all steps are done.
    pub finished: bool,
}

/// The result of training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingOutcome {
    /// The model delta: local weights minus starting weights of the [`TrainedPart`], flat.
    pub delta: Vec<f32>,
    /// The local weights of the whole model, flat in schema order.
    pub weights: Vec<f32>,
    /// The weights of the client's own model, flat in schema order. Empty unless the plan trains one. With Ditto, a [`Trainer`]
    /// leaves it to its caller, who runs the phases.
    pub own_weights: Vec<f32>,
    /// The share of the client's own model in its predictions (APFL); `None` if the plan has none.
    pub own_share: Option<f32>,
    /// For each tensor of the part, the outer products whose sum is its delta, up to rounding, if they were recorded.
    /// Empty without [`Trainer::record_outer_products`].
    pub products: Vec<Option<OuterProducts>>,
    /// Sums over the batches, each measured before its update. With example privacy, only the number of steps is
    /// reported and all other sums are 0, because they would reveal information about the examples.
    pub metrics: Metrics,
    /// The sums of an evaluation, if the coordinator asked for them. `None` for a training.
    pub sums: Option<MetricSums>,
    /// The measurement after a fine-tuning, with the sums of both measurements. `None` unless an evaluation fine-tunes.
    pub fine_tuned: Option<FineTuned>,
}

impl TrainingOutcome {
    /// Creates an outcome without a model delta, as an evaluation has it.
    pub fn of_metrics(metrics: Metrics) -> Self {
        Self {
            delta: Vec::new(),
            weights: Vec::new(),
            own_weights: Vec::new(),
            own_share: None,
            products: Vec::new(),
            metrics,
            sums: None,
            fine_tuned: None,
        }
    }
}

/// Trains a model on local examples, one step per call. You can stop after any step and resume later, or end training
/// and use the outcome so far.
///
/// The result depends only on the arguments of [`Trainer::new`]. A training that was stopped with
/// [`Trainer::checkpoint`] and resumed with [`Trainer::resume`] gives a bit-identical result. With example privacy, the
/// result also depends on secret random numbers, which cannot be repeated. A step allocates memory only if its batch
/// size is new, because the program for that size is compiled then, or if an optimizer needs vectors of its own. With
/// gradient accumulation, a step consists of several batches and never stops between them.
pub struct Trainer {
    plan: TrainingPlan,
    phase: Phase,
    examples: Examples,
    seed: u64,
    processor: Processor,
    /// The state in host memory. During training on a GPU it is the last downloaded state.
    host: HostState,
    /// The client's own model, if it is trained in the same steps.
    companion: Option<Companion>,
    batches: BatchOrder,
    /// Present if the plan chooses examples by their losses.
    difficulty: Option<Difficulty>,
    metrics: Metrics,
    loss: f64,
    /// The number of consecutive skipped steps.
    left_out: u32,
    #[cfg(feature = "gpu")]
    gpu: Option<OnGpu>,
    #[cfg(feature = "gpu")]
    gpu_fault: Option<folkmoot_gpu::GpuError>,
}

/// The maximum number of consecutive steps that may be skipped because 16-bit gradients overflow. It is twice the
/// number of steps in which the loss scale falls from its largest to its smallest value.
const LEFT_OUT_MAX: u32 = 64;

impl Trainer {
    /// Prepares training from `starting_weights`, flat in schema order. `seed` determines the order of the examples and
    /// dropout. If the plan has a personal training, this is the training after it; see [`Trainer::new_personal`].
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan is invalid, weights or examples do not match the model, or a step needs
    /// more memory than the plan allows.
    pub fn new(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        seed: u64,
    ) -> Result<Self, TrainError> {
        Self::of(Phase::Shared, model, starting_weights, plan, examples, seed)
    }

    fn of(
        phase: Phase,
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        seed: u64,
    ) -> Result<Self, TrainError> {
        plan.validate()?;
        check_weights(model, starting_weights)?;
        let (model, layout, examples) = fitted_for(&plan, &model.for_plan(&plan)?, examples)?;
        let augmenter = Augmenter::of(&plan, &model)?;
        check_class_weights(&plan.class_weights, model.output_shape())?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let parameters = Parameters::new(&model, &plan)?.in_phase(&model, &plan, phase);
        let batches = BatchOrder::new(&plan, examples.len(), seed);
        let source = StepSource {
            parameters,
            model,
            objective: Objective::of(&plan),
            contrast: plan.model_contrast.clone(),
            layout,
            has_shares: examples.weights().is_some(),
        };
        let mut processor = Processor::new(source, step_rule(&plan), &examples, batches.full_batch())?;
        processor.augment(augmenter.map(|one| one.with_room_for(batches.step_examples(), &examples)));
        let mut host = HostState {
            weights: starting_weights.to_vec(),
            starting_weights: starting_weights.to_vec(),
            correction: None,
            optimizer_state: Vec::new(),
        };
        write_starting_state(&plan, processor.state_length(), &mut host.optimizer_state);
        let parameters = &processor.source().parameters;
        let companion = Companion::of(&plan, parameters, starting_weights, &host.optimizer_state);
        processor.keep_beside(companion.as_ref().map_or(0, Companion::memory_bytes));
        let mut trainer = Self {
            companion,
            difficulty: None,
            examples,
            seed,
            processor,
            host,
            batches,
            metrics: Metrics::default(),
            loss: 0.0,
            left_out: 0,
            plan,
            phase,
            #[cfg(feature = "gpu")]
            gpu: None,
            #[cfg(feature = "gpu")]
            gpu_fault: None,
        };
        trainer.check_memory()?;
        trainer.measure_difficulty()?;
        Ok(trainer)
    }

    /// Sets the number of threads for a step. Without the engine's feature `threads`, a step uses one thread. The
    /// number of threads affects the rounding of the result: each thread sums a part of a filter's gradient.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the memory for all threads cannot be allocated.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), TrainError> {
        self.processor.set_threads(threads, self.batches.full_batch())?;
        self.processor.record(self.batches.examples_total());
        self.check_memory()
    }

    /// Adds a correction to every gradient, such as SCAFFOLD's c − cᵢ, flat in schema order (Karimireddy et al. 2020, algorithm
    /// 1).
    ///
    /// It is added after clipping, and only to the gradients of trained weights. If training runs on a GPU, this
    /// call moves it back to the CPU; you can move it to the GPU again.
    ///
    /// # Errors
    /// Returns a [`FitError`] unless there is one finite number for each parameter.
    pub fn set_gradient_correction(&mut self, correction: Vec<f32>) -> Result<(), FitError> {
        check_weights(&self.processor.source().model, &correction)?;
        self.bring_back();
        self.host.correction = Some(correction);
        Ok(())
    }

    /// Begins with these weights, flat in schema order, instead of the starting weights, to which the delta remains relative. Call it
    /// before the first step, and before the training moves to a GPU.
    ///
    /// # Errors
    /// Returns a [`FitError`] unless there is one finite number for each parameter.
    pub fn begin_at(&mut self, weights: &[f32]) -> Result<(), FitError> {
        check_weights(&self.processor.source().model, weights)?;
        self.host.weights.copy_from_slice(weights);
        Ok(())
    }

    /// Returns the number of steps of a valid plan on this many examples.
    pub fn steps_of(plan: &TrainingPlan, example_count: usize) -> u64 {
        BatchOrder::new(plan, example_count, 0).steps_total()
    }

    /// Returns the progress of training.
    pub fn progress(&self) -> Progress {
        let (step, steps_total) = (self.metrics.step_count, self.batches.steps_total());
        Progress { step, steps_total, loss: self.loss, finished: step >= steps_total }
    }

    /// Returns sums over the batches so far, each measured before its update. To get the sums of a range of steps,
    /// subtract the results of two calls. With example privacy these sums and [`Progress::loss`] are exact: show them
    /// only to people who may see the examples.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Returns the current memory of the training, without the model and the examples, which the caller holds too.
    pub fn memory(&self) -> TrainingMemory {
        let programs = if self.is_on_cpu() { self.processor.program_bytes() } else { 0 };
        let HostState { weights, starting_weights, correction, optimizer_state } = &self.host;
        let bytes = |floats: &[f32]| size_of_val(floats);
        TrainingMemory {
            weights: bytes(weights) + self.processor.kept_bytes(),
            starting_weights: bytes(starting_weights) + bytes(correction.as_deref().unwrap_or_default()),
            optimizer_state: bytes(optimizer_state),
            programs,
            batch: self.processor.batch_bytes(),
        }
    }

    /// Returns the total of [`Trainer::memory`] in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory().total()
    }

    /// Returns the current weights, flat in schema order. Downloads them if training runs on a GPU.
    pub fn weights(&mut self) -> &[f32] {
        self.settle();
        &self.host.weights
    }

    /// Ends training, possibly early, and returns the outcome of the steps so far.
    pub fn finish(mut self) -> TrainingOutcome {
        self.settle();
        let weights = self.closed_weights().unwrap_or_else(|| std::mem::take(&mut self.host.weights));
        self.outcome_of(weights)
    }

    /// Returns the outcome as if training ended now. Keeps the trainer, to continue or to [`Trainer::restart`].
    pub fn outcome(&mut self) -> TrainingOutcome {
        self.settle();
        let weights = self.closed_weights().unwrap_or_else(|| self.host.weights.clone());
        self.outcome_of(weights)
    }

    fn outcome_of(&self, weights: Vec<f32>) -> TrainingOutcome {
        let (delta, products, metrics) =
            (self.delta(&weights), self.recorded_products(), self.metrics_to_tell());
        let (own_weights, own_share) = self.companion.as_ref().map(Companion::own).unwrap_or_default();
        let whole = TrainingOutcome::of_metrics(metrics);
        TrainingOutcome { delta, products, weights, own_weights, own_share, ..whole }
    }

    /// Returns the weights if training ended now; `None` if they equal the host's weights.
    fn closed_weights(&self) -> Option<Vec<f32>> {
        self.companion.as_ref()?.closed(&self.host.weights, self.metrics.step_count)
    }

    fn metrics_to_tell(&self) -> Metrics {
        match self.plan.example_privacy {
            Some(_) => Metrics { step_count: self.metrics.step_count, ..Metrics::default() },
            None => self.metrics,
        }
    }

    fn delta(&self, weights: &[f32]) -> Vec<f32> {
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters);
        part.picked(|range| {
            let pairs = weights[range.clone()].iter().zip(&self.host.starting_weights[range]);
            pairs.map(|(local, start)| local - start)
        })
    }

    /// # Errors
    /// Returns [`TrainError::Memory`] if CPU training holds more memory than the plan allows.
    fn check_memory(&self) -> Result<(), TrainError> {
        let limit = self.processor.limit(&self.host);
        Ok(limit.check(self.batches.full_batch(), self.processor.program_bytes())?)
    }

    /// Counts completed steps.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if a loss or a weight is not finite. Later steps are not counted.
    fn count(&mut self, results: &[StepResult]) -> Result<(), TrainError> {
        results.iter().try_for_each(|result| self.count_one(*result))
    }

    fn count_one(&mut self, result: StepResult) -> Result<(), TrainError> {
        let StepResult { loss, correct_count, example_count, is_finite, is_left_out } = result;
        if example_count > 0 {
            self.loss = loss;
        }
        let loss_sum = loss * example_count as f64;
        self.metrics += Metrics { example_count, loss_sum, correct_count, step_count: 1 };
        self.left_out = if is_left_out { self.left_out + 1 } else { 0 };
        // A skipped step may have any loss. If skipping some steps does not make the loss scale small enough, training
        // has diverged.
        let is_sound = match is_left_out {
            true => self.left_out < LEFT_OUT_MAX,
            false => is_finite && loss.is_finite(),
        };
        match is_sound {
            true => Ok(()),
            false => Err(TrainError::Diverged { step: self.metrics.step_count }),
        }
    }
}

/// Returns the request for a step, counted from 0, with this seed on these rows of the examples.
fn step_request<'rows>(
    plan: &TrainingPlan,
    seed: u64,
    number: u64,
    rows: Cow<'rows, [usize]>,
) -> StepRequest<'rows> {
    StepRequest { rows, number, seed: step_seed(seed, number), learning_rate: learning_rate(plan, number) }
}

/// Writes the optimizer's initial state; with mixed precision, the loss scale is at the end.
fn write_starting_state(plan: &TrainingPlan, slots: usize, state: &mut Vec<f32>) {
    state.clear();
    state.resize(slots, 0.0);
    #[cfg(feature = "gpu")]
    if plan.precision == folkmoot_protocol::Precision::Mixed {
        state.extend(folkmoot_graph::step::LOSS_SCALE);
    }
    let _ = plan;
}
