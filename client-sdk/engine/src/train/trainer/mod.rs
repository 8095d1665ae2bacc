//! The training loop, turned inside out: the caller asks for each step.

mod advance;
#[cfg(feature = "gpu")]
mod comparison;
mod observed;
#[cfg(feature = "gpu")]
mod on_gpu;
mod private;
mod recording;
mod restart;

pub use advance::block_on;
#[cfg(feature = "gpu")]
pub use comparison::Comparison;
use folkmoot_protocol::{OuterProducts, TrainingPlan};

use crate::batch::Batch;
use crate::examples::Examples;
use crate::fit::{FitError, check_examples, check_weights};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::processor::{Optimizer, optimizer};
use crate::processor::{StepSource, Steps};
use crate::step::Parameters;
use crate::step::SecretChance;
use crate::train::batches::BatchOrder;
use crate::train::checkpoint::{self, Checkpoint};
use crate::train::memory::MemoryLimit;
use crate::train::{TrainError, TrainedPart, TrainingMemory};
#[cfg(feature = "gpu")]
use on_gpu::OnGpu;

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
    pub(crate) plan: TrainingPlan,
    pub(crate) examples: Examples,
    pub(crate) seed: u64,
    pub(crate) steps: Steps,
    pub(crate) batch: Batch,
    pub(crate) weights: Vec<f32>,
    pub(crate) starting_weights: Vec<f32>,
    pub(crate) gradient_correction: Option<Vec<f32>>,
    /// For example privacy.
    pub(crate) chance: Option<Box<dyn SecretChance>>,
    pub(crate) optimizer: Box<dyn Optimizer>,
    /// The optimizer's slots of one trained tensor after the other.
    pub(crate) state: Vec<f32>,
    pub(crate) batches: BatchOrder,
    pub(crate) metrics: Metrics,
    pub(crate) loss: f64,
    /// While the training runs on a device, `weights` and `state` are those that came back last.
    #[cfg(feature = "gpu")]
    pub(crate) gpu: Option<OnGpu>,
    #[cfg(feature = "gpu")]
    pub(crate) gpu_fault: Option<crate::gpu::GpuError>,
}

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
            parameters: Parameters::new(model, &plan)?,
            loss: plan.loss,
            layout,
            has_shares: examples.weights().is_some(),
            threads: 1,
            recorded: Vec::new(),
        };
        let steps = Steps::new(source, &plan, batches.full_batch())?;
        let optimizer = optimizer(plan.optimizer);
        let mut state = Vec::new();
        write_starting_state(&plan, optimizer.slots() * steps.trained_count(), &mut state);
        let trainer = Self {
            examples: examples.clone(),
            seed,
            batch: Batch::with_room_for(batches.full_batch(), examples),
            weights: starting_weights.to_vec(),
            starting_weights: starting_weights.to_vec(),
            gradient_correction: None,
            chance: None,
            state,
            optimizer,
            steps,
            batches,
            metrics: Metrics::default(),
            loss: 0.0,
            plan,
            #[cfg(feature = "gpu")]
            gpu: None,
            #[cfg(feature = "gpu")]
            gpu_fault: None,
        };
        trainer.memory_limit().check(trainer.batches.full_batch(), trainer.steps.memory_bytes())?;
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
        checkpoint.check(trainer.fingerprint(), trainer.starting_weights.len(), trainer.state.len())?;
        trainer.weights = checkpoint.weights;
        trainer.state = checkpoint.state;
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
        let source = StepSource { threads: threads.max(1), ..self.steps.source().clone() };
        self.steps = Steps::new(source, &self.plan, self.batches.full_batch())?;
        self.steps.record(self.batches.examples_total());
        self.memory_limit().check(self.batches.full_batch(), self.steps.memory_bytes())
    }

    /// Adds this to every gradient: SCAFFOLD's c − cᵢ, flat in schema order (Karimireddy et al. 2020, algorithm 1).
    ///
    /// It is added after clipping, to the gradients of trained weights only. A training on a device comes back to the CPU
    /// for it, and can be moved again.
    ///
    /// # Errors
    /// Returns a [`FitError`] if there is not a finite number for each parameter.
    pub fn set_gradient_correction(&mut self, correction: Vec<f32>) -> Result<(), FitError> {
        check_weights(&self.steps.source().model, &correction)?;
        self.bring_back();
        self.gradient_correction = Some(correction);
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
        let programs = if self.is_on_cpu() { self.steps.memory_bytes() } else { 0 };
        TrainingMemory { programs, ..self.memory_besides_programs() }
    }

    fn memory_besides_programs(&self) -> TrainingMemory {
        let bytes = |floats: &[f32]| size_of_val(floats);
        let correction = self.gradient_correction.as_deref().unwrap_or_default();
        TrainingMemory {
            weights: bytes(&self.weights),
            starting_weights: bytes(&self.starting_weights) + bytes(correction),
            optimizer_state: bytes(&self.state),
            programs: 0,
            batch: self.batch.memory_bytes(),
        }
    }

    /// All bytes of [`Trainer::memory`].
    pub fn memory_bytes(&self) -> usize {
        self.memory().total()
    }

    /// The weights as they are now, flat in schema order. From a device they are brought back.
    pub fn weights(&mut self) -> &[f32] {
        self.settle();
        &self.weights
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
            weights: self.weights.clone(),
            state: self.state.clone(),
        }
        .encode()
    }

    /// Ends training, after all steps or before: then the outcome is that of the steps so far.
    pub fn finish(mut self) -> TrainingOutcome {
        self.settle();
        let (delta, products, metrics) = (self.delta(), self.recorded_products(), self.metrics_to_tell());
        TrainingOutcome { delta, products, metrics, weights: self.weights }
    }

    /// What training would leave behind if it ended now. The trainer is kept, to go on or for [`Trainer::restart`].
    pub fn outcome(&mut self) -> TrainingOutcome {
        self.settle();
        let (delta, products, metrics) = (self.delta(), self.recorded_products(), self.metrics_to_tell());
        TrainingOutcome { delta, products, weights: self.weights.clone(), metrics }
    }

    fn metrics_to_tell(&self) -> Metrics {
        match self.plan.example_privacy {
            Some(_) => Metrics { step_count: self.metrics.step_count, ..Metrics::default() },
            None => self.metrics,
        }
    }

    fn delta(&self) -> Vec<f32> {
        let source = self.steps.source();
        let part = TrainedPart::new(&source.model, &source.parameters, self.plan.statistics);
        part.picked(|range| {
            let pairs = self.weights[range.clone()].iter().zip(&self.starting_weights[range]);
            pairs.map(|(local, start)| local - start)
        })
    }

    pub(crate) fn memory_limit(&self) -> MemoryLimit {
        let held = self.memory_besides_programs().total();
        MemoryLimit { held, bytes_max: self.plan.memory_bytes_max }
    }

    fn fingerprint(&self) -> u64 {
        checkpoint::fingerprint(&self.plan, &self.starting_weights, self.examples.len())
    }
}

/// Writes what an optimizer keeps before the first step; with mixed precision the loss scale lies at the end.
pub(crate) fn write_starting_state(plan: &TrainingPlan, slots: usize, state: &mut Vec<f32>) {
    state.clear();
    state.resize(slots, 0.0);
    #[cfg(feature = "gpu")]
    if plan.precision == folkmoot_protocol::Precision::Mixed {
        state.extend(crate::gpu::LOSS_SCALE);
    }
    let _ = plan;
}
