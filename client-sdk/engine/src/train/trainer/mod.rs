//! The training loop, turned inside out: the caller asks for each step.

mod advance;
#[cfg(feature = "gpu")]
mod comparison;
#[cfg(not(feature = "gpu"))]
mod no_gpu;
#[cfg(feature = "gpu")]
mod on_gpu;
mod on_processor;
mod private;
mod recording;
mod restart;

use std::borrow::Cow;

#[cfg(feature = "gpu")]
pub use comparison::Comparison;
use folkmoot_graph::random::step_seed;
use folkmoot_graph::step::{HostState, StepRequest, StepResult, StepRule};
use folkmoot_protocol::{OuterProducts, TrainingPlan};
#[cfg(feature = "gpu")]
use on_gpu::OnGpu;

use super::batches::BatchOrder;
use super::checkpoint::{self, Checkpoint};
use super::learning_rate::learning_rate;
use super::{TrainError, TrainedPart, TrainingMemory};
use crate::examples::Examples;
use crate::fit::{FitError, check_examples, check_weights};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::processor::Processor;
use crate::step::{Parameters, StepSource};

/// How far training is after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The steps done.
    pub step: u64,
    /// The steps of the whole training.
    pub steps_total: u64,
    /// The mean loss of the last step's examples, before its update.
    pub loss: f64,
    /// Whether no step is left.
    pub finished: bool,
}

/// What training leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingOutcome {
    /// The model delta: local weights minus starting weights of the [`TrainedPart`], flat.
    pub delta: Vec<f32>,
    /// The local weights of the whole model, flat in schema order.
    pub weights: Vec<f32>,
    /// For each tensor of the part the outer products whose sum its delta is, up to rounding, where they were recorded; nothing
    /// without [`Trainer::record_outer_products`].
    pub products: Vec<Option<OuterProducts>>,
    /// Sums over the batches as they were seen, each before its update. With example privacy they are 0 but for the steps:
    /// the rest would tell of the examples.
    pub metrics: Metrics,
}

/// Trains a model on local examples, one step at a call. It can be stopped after any step, and ended: what was trained
/// by then is its outcome.
///
/// The result depends on the arguments of [`Trainer::new`] only; a stop with [`Trainer::checkpoint`] and
/// [`Trainer::resume`] does not change a bit of it. With example privacy it depends on chance that nobody can repeat. A step
/// takes no memory beyond what is held before it, except the first with another batch size, which is compiled then. With
/// gradient accumulation a step goes over several batches; it is never stopped between them.
pub struct Trainer {
    plan: TrainingPlan,
    examples: Examples,
    seed: u64,
    processor: Processor,
    /// While the training runs on a device, weights and optimizer state are those that came back last.
    host: HostState,
    batches: BatchOrder,
    metrics: Metrics,
    loss: f64,
    /// The steps since the last that was not left out.
    left_out: u32,
    #[cfg(feature = "gpu")]
    gpu: Option<OnGpu>,
    #[cfg(feature = "gpu")]
    gpu_fault: Option<folkmoot_gpu::GpuError>,
}

/// Steps that may be left out one after the other because gradients overflow with 16 bits: twice as many as take the
/// loss scale from its largest to its smallest.
const LEFT_OUT_MAX: u32 = 64;

impl Trainer {
    /// Prepares training from `starting_weights`, flat in schema order. `seed` decides the order of the examples and
    /// what dropout leaves out.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan makes no sense, weights or examples do not fit the model, or a step needs
    /// more memory than the plan allows.
    pub fn new(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        seed: u64,
    ) -> Result<Self, TrainError> {
        plan.validate()?;
        check_weights(model, starting_weights)?;
        let layout = check_examples(model.input_shape(), model.output_shape(), examples, plan.loss)?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let batches = BatchOrder::new(&plan, examples.len(), seed);
        let source = StepSource {
            model: model.clone(),
            parameters: Parameters::new(model, &plan.frozen)?,
            loss: plan.loss,
            layout,
            has_shares: examples.weights().is_some(),
        };
        let processor = Processor::new(source, step_rule(&plan), examples, batches.full_batch())?;
        let mut host = HostState {
            weights: starting_weights.to_vec(),
            starting_weights: starting_weights.to_vec(),
            correction: None,
            optimizer_state: Vec::new(),
        };
        write_starting_state(&plan, processor.slots(), &mut host.optimizer_state);
        let trainer = Self {
            examples: examples.clone(),
            seed,
            processor,
            host,
            batches,
            metrics: Metrics::default(),
            loss: 0.0,
            left_out: 0,
            plan,
            #[cfg(feature = "gpu")]
            gpu: None,
            #[cfg(feature = "gpu")]
            gpu_fault: None,
        };
        trainer.check_memory()?;
        Ok(trainer)
    }

    /// Goes on from a [`Trainer::checkpoint`]. All other arguments must be those of the interrupted training; a
    /// gradient correction has to be set again, and so has secret chance.
    ///
    /// # Errors
    /// Returns [`TrainError::Checkpoint`] if the bytes are damaged or from another training, and the errors of
    /// [`Trainer::new`].
    pub fn resume(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        checkpoint: &[u8],
    ) -> Result<Self, TrainError> {
        let checkpoint = Checkpoint::decode(checkpoint)?;
        let mut trainer = Self::new(model, starting_weights, plan, examples, checkpoint.seed)?;
        let HostState { weights, optimizer_state, .. } = &trainer.host;
        checkpoint.check(trainer.fingerprint(), weights.len(), optimizer_state.len())?;
        trainer.host.weights = checkpoint.weights;
        trainer.host.optimizer_state = checkpoint.state;
        trainer.metrics = checkpoint.metrics;
        trainer.loss = checkpoint.loss;
        Ok(trainer)
    }

    /// Lets a step work on so many threads, where the engine is built with the feature `threads`; without this it
    /// works on one. The result depends on their number: convolutions add up the filter's gradient in as many parts.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if there is no memory for what every thread needs.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), TrainError> {
        self.processor.set_threads(threads, self.batches.full_batch())?;
        self.processor.record(self.batches.examples_total());
        self.check_memory()
    }

    /// Adds this to every gradient: SCAFFOLD's c − cᵢ, flat in schema order (Karimireddy et al. 2020, algorithm 1).
    ///
    /// It is added after clipping, to the gradients of trained weights only. A training on a device comes back to the CPU
    /// for it, and can be moved again.
    ///
    /// # Errors
    /// Returns a [`FitError`] if there is not a finite number for each parameter.
    pub fn set_gradient_correction(&mut self, correction: Vec<f32>) -> Result<(), FitError> {
        check_weights(&self.processor.source().model, &correction)?;
        self.bring_back();
        self.host.correction = Some(correction);
        Ok(())
    }

    /// How far training is.
    pub fn progress(&self) -> Progress {
        let (step, steps_total) = (self.metrics.step_count, self.batches.steps_total());
        Progress { step, steps_total, loss: self.loss, finished: step >= steps_total }
    }

    /// Sums over the batches so far, each before its update. What two calls differ in are the sums of the steps between.
    /// With example privacy these and [`Progress::loss`] are exact, for eyes that may see the examples.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// What the training holds in memory now, apart from the model and the examples, which the caller holds too.
    pub fn memory(&self) -> TrainingMemory {
        let programs = if self.is_on_cpu() { self.processor.program_bytes() } else { 0 };
        let HostState { weights, starting_weights, correction, optimizer_state } = &self.host;
        let bytes = |floats: &[f32]| size_of_val(floats);
        TrainingMemory {
            weights: bytes(weights),
            starting_weights: bytes(starting_weights) + bytes(correction.as_deref().unwrap_or_default()),
            optimizer_state: bytes(optimizer_state),
            programs,
            batch: self.processor.batch_bytes(),
        }
    }

    /// All bytes of [`Trainer::memory`].
    pub fn memory_bytes(&self) -> usize {
        self.memory().total()
    }

    /// The weights as they are now, flat in schema order. From a device they are brought back.
    pub fn weights(&mut self) -> &[f32] {
        self.settle();
        &self.host.weights
    }

    /// The state of training as bytes: weights, optimizer, step, sums and seed, but neither the examples nor
    /// the starting weights. It does not depend on the device.
    pub fn checkpoint(&mut self) -> Vec<u8> {
        self.settle();
        let (metrics, loss) = self.settled();
        Checkpoint {
            fingerprint: self.fingerprint(),
            seed: self.seed,
            metrics,
            loss,
            weights: self.host.weights.clone(),
            state: self.host.optimizer_state.clone(),
        }
        .encode()
    }

    /// Ends training, after all steps or before: then the outcome is that of the steps so far.
    pub fn finish(mut self) -> TrainingOutcome {
        self.settle();
        let (delta, products, metrics) = (self.delta(), self.recorded_products(), self.metrics_to_tell());
        TrainingOutcome { delta, products, metrics, weights: self.host.weights }
    }

    /// What training would leave behind if it ended now. The trainer is kept, to go on or for [`Trainer::restart`].
    pub fn outcome(&mut self) -> TrainingOutcome {
        self.settle();
        let (delta, products, metrics) = (self.delta(), self.recorded_products(), self.metrics_to_tell());
        TrainingOutcome { delta, products, weights: self.host.weights.clone(), metrics }
    }

    fn metrics_to_tell(&self) -> Metrics {
        match self.plan.example_privacy {
            Some(_) => Metrics { step_count: self.metrics.step_count, ..Metrics::default() },
            None => self.metrics,
        }
    }

    fn delta(&self) -> Vec<f32> {
        let source = self.processor.source();
        let part = TrainedPart::new(&source.model, &source.parameters, self.plan.statistics);
        part.picked(|range| {
            let pairs = self.host.weights[range.clone()].iter().zip(&self.host.starting_weights[range]);
            pairs.map(|(local, start)| local - start)
        })
    }

    /// # Errors
    /// Returns [`TrainError::Memory`] if the training on the processor holds more than the plan allows.
    fn check_memory(&self) -> Result<(), TrainError> {
        let limit = self.processor.limit(&self.host);
        Ok(limit.check(self.batches.full_batch(), self.processor.program_bytes())?)
    }

    /// Counts steps that were taken.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if a loss or a weight is not finite. The steps behind it are not counted.
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
        // A left-out step may have any loss; a scale that is small enough comes after some of them, or never.
        let is_sound = match is_left_out {
            true => self.left_out < LEFT_OUT_MAX,
            false => is_finite && loss.is_finite(),
        };
        match is_sound {
            true => Ok(()),
            false => Err(TrainError::Diverged { step: self.metrics.step_count }),
        }
    }

    fn fingerprint(&self) -> u64 {
        checkpoint::fingerprint(&self.plan, &self.host.starting_weights, self.examples.len())
    }
}

/// The request of a step, counted from 0, of a training with this seed on these rows of the examples.
fn step_request<'rows>(
    plan: &TrainingPlan,
    seed: u64,
    number: u64,
    rows: Cow<'rows, [usize]>,
) -> StepRequest<'rows> {
    StepRequest { rows, number, seed: step_seed(seed, number), learning_rate: learning_rate(plan, number) }
}

/// The part of a plan that an executor has to know.
fn step_rule(plan: &TrainingPlan) -> StepRule {
    StepRule {
        batch_size: plan.batch_size as usize,
        accumulation_steps: plan.accumulation_steps,
        precision: plan.precision,
        clipping: plan.gradient_clipping,
        privacy: plan.example_privacy,
        proximal_term: plan.proximal_term,
        optimizer: plan.optimizer,
        memory_bytes_max: plan.memory_bytes_max,
    }
}

/// Writes what an optimizer keeps before the first step; with mixed precision the loss scale lies at the end.
fn write_starting_state(plan: &TrainingPlan, slots: usize, state: &mut Vec<f32>) {
    state.clear();
    state.resize(slots, 0.0);
    #[cfg(feature = "gpu")]
    if plan.precision == folkmoot_protocol::Precision::Mixed {
        state.extend(folkmoot_graph::step::LOSS_SCALE);
    }
    let _ = plan;
}
