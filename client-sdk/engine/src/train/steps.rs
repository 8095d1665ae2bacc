//! The compiled steps of a training: one for full batches, one for the last of an epoch.

use super::memory::MemoryLimit;
use super::parameters::Parameters;
use super::per_example::PerExample;
use super::step_program::{Observer, StepProgram};
use super::{GradientClipping, TrainError, TrainingPlan};
use crate::batch::Batch;
use crate::fit::FitError;
use crate::loss::{LabelForm, Layout};
use crate::model::Model;
use crate::train::Loss;

/// Programs kept at the same time: that of full batches and that of the rest.
const PROGRAMS_MAX: usize = 2;

/// What is needed to compile a step for any batch size.
#[derive(Clone)]
pub(crate) struct StepSource {
    pub(crate) model: Model,
    pub(crate) parameters: Parameters,
    pub(crate) loss: Loss,
    pub(crate) layout: Layout,
    /// Whether examples have weights.
    pub(crate) has_shares: bool,
    /// Threads of a step.
    pub(crate) threads: usize,
}

impl StepSource {
    /// The source of a plan before its examples are known: softmax cross-entropy is taken to have class numbers, other
    /// losses a number for each output.
    ///
    /// # Errors
    /// Returns a [`FitError`] if a frozen pattern stands for no parameter.
    pub(super) fn without_examples(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let form = match plan.loss {
            Loss::SoftmaxCrossEntropy => LabelForm::Classes,
            _ => LabelForm::Values,
        };
        Ok(Self {
            model: model.clone(),
            parameters: Parameters::new(model, plan)?,
            loss: plan.loss,
            layout: Layout::new(model.output_shape(), form),
            has_shares: false,
            threads: 1,
        })
    }

    fn compile(&self, batch_size: usize, has_shares: bool) -> Result<StepProgram, TrainError> {
        StepProgram::compile(self, batch_size, has_shares)
    }
}

/// Computes loss, outputs and gradient of batches of any size.
pub(super) struct Steps {
    source: StepSource,
    /// Of different batch sizes; the one that ran last is the last.
    programs: Vec<StepProgram>,
    /// With per-example clipping, where the average of the gradients goes, and the bound of their norms.
    per_example: Option<(PerExample, f32)>,
}

impl Steps {
    /// Compiles the step of full batches. Its memory is taken when it first runs.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the step cannot be compiled, or per-example clipping does not go with the model.
    pub(super) fn new(
        source: StepSource,
        plan: &TrainingPlan,
        batch_size: usize,
    ) -> Result<Self, TrainError> {
        let Some(GradientClipping::PerExampleNorm(bound)) = plan.gradient_clipping else {
            let program = source.compile(batch_size, source.has_shares)?;
            return Ok(Self { source, programs: vec![program], per_example: None });
        };
        let program = source.compile(1, false)?;
        if program.mixes_examples() {
            return Err(FitError::MixedExamples.into());
        }
        let per_example = PerExample::new(&program, batch_size);
        Ok(Self { source, programs: vec![program], per_example: Some((per_example, bound)) })
    }

    /// Runs a batch of this many examples.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the step is not yet compiled and cannot be within the limit.
    pub(super) fn run(
        &mut self,
        weights: &[f32],
        batch: &Batch,
        examples: usize,
        seed: u64,
        limit: MemoryLimit,
        observe: Observer<'_>,
    ) -> Result<(), TrainError> {
        if self.per_example.is_none() {
            self.prepare(examples, limit)?;
        }
        let Some(program) = self.programs.last_mut() else { return Err(TrainError::NoExamples) };
        program.reserve()?;
        match &mut self.per_example {
            Some((per_example, bound)) => {
                per_example.run(program, weights, batch, examples, *bound, seed);
                observe("examples one by one", 0);
            }
            None => program.run(weights, batch, seed, observe),
        }
        Ok(())
    }

    /// Brings the program of this batch size to the end of the list. Where there is no room for two, one goes.
    fn prepare(&mut self, batch_size: usize, limit: MemoryLimit) -> Result<(), TrainError> {
        match self.programs.iter().position(|program| program.batch_size() == batch_size) {
            Some(index) => self.programs[index..].rotate_left(1),
            None => {
                if self.programs.len() == PROGRAMS_MAX {
                    self.programs.remove(0);
                }
                self.programs.push(self.source.compile(batch_size, self.source.has_shares)?);
                if limit.check(batch_size, self.memory_bytes()).is_err() {
                    self.programs.drain(..self.programs.len() - 1);
                }
                limit.check(batch_size, self.memory_bytes())?;
            }
        }
        Ok(())
    }

    /// The program that ran last.
    fn program(&self) -> &StepProgram {
        self.programs.last().expect("there is always a program, from the beginning")
    }

    /// The model's outputs for the last batch.
    pub(super) fn outputs(&self) -> &[f32] {
        match &self.per_example {
            Some((per_example, _)) => per_example.outputs(),
            None => self.program().output(),
        }
    }

    /// The mean loss of the last batch.
    pub(super) fn loss(&self) -> f64 {
        match &self.per_example {
            Some((per_example, _)) => per_example.loss(),
            None => self.program().loss(),
        }
    }

    /// The trained tensors: where each lies in the weights, and its gradient for the last batch.
    pub(super) fn gradients(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &[f32])> + Clone {
        let mut start = 0;
        self.program().trained().iter().enumerate().map(move |(index, range)| {
            let begin = start;
            start += range.len();
            let gradient = match &self.per_example {
                Some((per_example, _)) => &per_example.gradient()[begin..start],
                None => self.program().gradient(index),
            };
            (range.clone(), gradient)
        })
    }

    /// The number of trained weights.
    pub(super) fn trained_count(&self) -> usize {
        self.program().trained().iter().map(|range| range.len()).sum()
    }

    /// Copies the last batch's running statistics into the weights.
    pub(super) fn store_statistics(&self, weights: &mut [f32]) {
        self.program().store_statistics(weights);
    }

    /// What the labels of an example look like.
    pub(super) fn source(&self) -> &StepSource {
        &self.source
    }

    /// Bytes of everything compiled, with the buffers of per-example clipping.
    pub(super) fn memory_bytes(&self) -> usize {
        let programs: usize = self.programs.iter().map(StepProgram::memory_bytes).sum();
        programs + self.per_example.as_ref().map_or(0, |(per_example, _)| per_example.memory_bytes())
    }
}
