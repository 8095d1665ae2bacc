//! The training loop, turned inside out: the caller asks for each step.

use std::ops::Range;

use candle_core::{DType, Tensor};

use super::checkpoint::{self, Checkpoint};
use super::schedule::Schedule;
use super::sgd::Sgd;
use super::{Loss, TrainError, TrainingPlan};
use crate::autodiff::differentiate;
use crate::batch::{check_examples, check_weights, feeds, parameter_tensors};
use crate::cpu::{ExecuteError, Executor, elements, update_in_place};
use crate::examples::Examples;
use crate::graph::Op;
use crate::metrics::{Metrics, score};
use crate::model::Model;

/// How far training is after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The steps done.
    pub step: u64,
    /// The steps of the whole training.
    pub steps_total: u64,
    /// The mean loss of the last step's batch, before its update.
    pub loss: f64,
    /// Whether no step is left.
    pub finished: bool,
}

/// What training leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingOutcome {
    /// The model delta: local weights minus starting weights, flat in schema order.
    pub delta: Vec<f32>,
    /// The local weights, flat in schema order.
    pub weights: Vec<f32>,
    /// Sums over the batches as they were seen, each before its update.
    pub metrics: Metrics,
}

/// Trains a model on local examples, one step at a call. It can be stopped after any step.
///
/// The result depends on the arguments of [`Trainer::new`] only; a stop with [`Trainer::checkpoint`] and
/// [`Trainer::resume`] does not change a bit of it.
pub struct Trainer {
    model: Model,
    plan: TrainingPlan,
    examples: Examples,
    seed: u64,
    executor: Executor,
    /// The parameters that the loss depends on, in the order of the executor's gradients.
    trained: Vec<usize>,
    parameters: Vec<Tensor>,
    starting_weights: Vec<f32>,
    sgd: Sgd,
    velocity: Vec<f32>,
    schedule: Schedule,
    metrics: Metrics,
    loss: f64,
}

impl Trainer {
    /// Prepares training from `starting_weights`, flat in schema order. `seed` decides the order of the examples.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan makes no sense, or weights or examples do not fit the model.
    pub fn new(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        seed: u64,
    ) -> Result<Self, TrainError> {
        plan.validate()?;
        check_weights(model, starting_weights)?;
        check_examples(model.input_shape(), model.output_shape(), examples, plan.loss)?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let (executor, trained) = executor(model, plan.loss)?;
        let sgd = Sgd::new(&plan);
        Ok(Self {
            model: model.clone(),
            examples: examples.clone(),
            seed,
            executor,
            trained,
            parameters: parameter_tensors(model.parameters(), starting_weights)?,
            starting_weights: starting_weights.to_vec(),
            sgd,
            velocity: vec![0.0; sgd.velocity_length(starting_weights.len())],
            schedule: Schedule::new(&plan, examples.len(), seed),
            metrics: Metrics::default(),
            loss: 0.0,
            plan,
        })
    }

    /// Goes on from a [`Trainer::checkpoint`]. All other arguments must be those of the interrupted training.
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
        checkpoint.check(trainer.fingerprint(), trainer.starting_weights.len(), trainer.velocity.len())?;
        trainer.parameters = parameter_tensors(model.parameters(), &checkpoint.weights)?;
        trainer.velocity = checkpoint.velocity;
        trainer.metrics = checkpoint.metrics;
        trainer.loss = checkpoint.loss;
        Ok(trainer)
    }

    /// Trains on the next batch. When training is finished it does nothing and reports the same progress again.
    ///
    /// # Errors
    /// Returns [`TrainError::Diverged`] if the loss or a weight is no longer finite; the training is then lost.
    pub fn step(&mut self) -> Result<Progress, TrainError> {
        if self.progress().finished {
            return Ok(self.progress());
        }
        let indices = self.schedule.batch(self.metrics.step_count);
        let labels = self.examples.gather_labels(indices);
        let label_shape: &[usize] = match self.plan.loss {
            Loss::SoftmaxCrossEntropy => &[],
            Loss::MeanSquaredError => self.model.output_shape(),
        };
        let feeds = feeds(&self.examples, indices, self.model.input_shape(), Some((&labels, label_shape)))?;
        let values = self.executor.run(&self.parameters, &feeds)?;
        let (outputs, gradients) = values.split_first().ok_or(TrainError::NoExamples)?;

        let batch = Metrics { step_count: 1, ..score(&elements(outputs)?, &labels, self.plan.loss) };
        let is_finite = self.update(gradients)?;
        self.loss = batch.loss_sum / batch.example_count as f64;
        self.metrics += batch;
        if !is_finite || !self.loss.is_finite() {
            return Err(TrainError::Diverged { step: self.metrics.step_count });
        }
        Ok(self.progress())
    }

    /// How far training is.
    pub fn progress(&self) -> Progress {
        let (step, steps_total) = (self.metrics.step_count, self.schedule.steps_total());
        Progress { step, steps_total, loss: self.loss, finished: step >= steps_total }
    }

    /// The state of training as bytes: weights, optimizer, step, sums and seed, but neither the examples nor
    /// the starting weights.
    pub fn checkpoint(&self) -> Vec<u8> {
        Checkpoint {
            fingerprint: self.fingerprint(),
            seed: self.seed,
            metrics: self.metrics,
            loss: self.loss,
            weights: self.weights(),
            velocity: self.velocity.clone(),
        }
        .encode()
    }

    /// Ends training, after all steps or before.
    pub fn finish(self) -> TrainingOutcome {
        let weights = self.weights();
        let delta = weights.iter().zip(&self.starting_weights).map(|(local, start)| local - start).collect();
        TrainingOutcome { delta, weights, metrics: self.metrics }
    }

    /// Applies the gradients and says whether all weights are finite.
    fn update(&mut self, gradients: &[Tensor]) -> Result<bool, ExecuteError> {
        let ranges = ranges(&self.model);
        let mut is_finite = true;
        for (index, gradient) in self.trained.iter().zip(gradients) {
            let range = ranges[*index].clone();
            let start = &self.starting_weights[range.clone()];
            let velocity = self.velocity.get_mut(range).unwrap_or_default();
            update_in_place(&self.parameters[*index], gradient, |weights, gradient| {
                is_finite &= self.sgd.update(weights, gradient, start, velocity);
            })?;
        }
        Ok(is_finite)
    }

    fn weights(&self) -> Vec<f32> {
        let mut weights = Vec::with_capacity(self.starting_weights.len());
        for parameter in &self.parameters {
            weights.extend(elements(parameter).expect("a parameter is an f32 tensor in the CPU's memory"));
        }
        weights
    }

    fn fingerprint(&self) -> u64 {
        checkpoint::fingerprint(&self.plan, &self.starting_weights, self.examples.len())
    }
}

/// The executor that computes the model's output and the gradients, and the parameters that have one.
fn executor(model: &Model, loss: Loss) -> Result<(Executor, Vec<usize>), TrainError> {
    let mut graph = model.graph().clone();
    let (labels, loss_op, gradient_op) = match loss {
        Loss::SoftmaxCrossEntropy => {
            (graph.add_labels(&[]), Op::SoftmaxCrossEntropy, Op::SoftmaxCrossEntropyGradient)
        }
        Loss::MeanSquaredError => {
            (graph.add_labels(model.output_shape()), Op::MeanSquaredError, Op::MeanSquaredErrorGradient)
        }
    };
    let differentiated = differentiate(graph, model.output(), labels, loss_op, gradient_op)?;
    let mut outputs = vec![model.output()];
    let mut trained = Vec::new();
    for (index, gradient) in differentiated.gradients.iter().enumerate() {
        if let Some(gradient) = gradient {
            trained.push(index);
            outputs.push(*gradient);
        }
    }
    Ok((Executor::new(differentiated.graph, outputs, DType::F32)?, trained))
}

/// Where each parameter lies in a flat vector of weights.
fn ranges(model: &Model) -> Vec<Range<usize>> {
    let mut start = 0;
    let ranges = model.parameters().iter().map(|spec| {
        let range = start..start + spec.element_count();
        start = range.end;
        range
    });
    ranges.collect()
}
