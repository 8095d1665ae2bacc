//! Computes the gradients of steps of any size, with programs that are compiled once per batch size.

use folkmoot_graph::random::step_seed;
use folkmoot_graph::step::{Observer, StepRule};
use folkmoot_protocol::GradientClipping;

use super::accumulator::{Accumulator, Part};
use super::batch_program::{BatchProgram, BatchSource};
use super::memory_limit::MemoryLimit;
use super::optimizer::MatrixShape;
use super::per_example::PerExample;
use super::recorder::Recorder;
use super::references::References;
use crate::augmentation::{AugmentedStep, Augmenter};
use crate::batch::{Batch, weight_sum};
use crate::examples::Examples;
use crate::fit::FitError;
use crate::step::{SecretChance, StepError, StepSource};
use folkmoot_loss::metrics::correct_examples;

/// Programs that are always kept: one for full batches and one for the last, smaller batch.
const PROGRAMS: usize = 2;
/// The maximum number of cached programs for other batch sizes. [`PROGRAM_BYTES_MAX`] also limits their total size.
const PROGRAMS_MAX: usize = 64;
const PROGRAM_BYTES_MAX: usize = 16 << 20;

pub(crate) struct StepInput<'a> {
    pub(crate) examples: &'a Examples,
    /// The indexes of the step's examples, all in range: at least one, except with example privacy.
    pub(crate) rows: &'a [usize],
    /// The seed of dropout. If there are several micro-batches, each derives its own seed.
    pub(crate) seed: u64,
    pub(crate) limit: MemoryLimit,
}

/// The parts of a step that only some plans have: changes of its examples, and other models to contrast with.
pub(crate) struct Beside<'a> {
    /// Present if the plan changes examples.
    pub(crate) augmenter: Option<&'a mut Augmenter>,
    /// Present if the plan contrasts the model with others, with all weights of the version.
    pub(crate) references: Option<(&'a mut References, &'a [f32])>,
}

/// The measurements of a step, before its update.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// The mean loss.
    pub(crate) loss: f64,
    pub(crate) correct_count: u64,
    pub(crate) example_count: u64,
}

/// Computes loss, outputs and gradient of steps of any size.
pub(crate) struct Gradients {
    source: BatchSource,
    /// With gradient accumulation or example privacy: the number of examples in a micro-batch.
    micro_batch: Option<usize>,
    accumulator: Accumulator,
    /// True if the last step had several micro-batches.
    is_accumulated: bool,
    /// Programs for different batch sizes; the most recently used one is last.
    programs: Vec<BatchProgram>,
    /// The average of clipped gradients, with per-example clipping. It replaces the accumulator.
    per_example: Option<PerExample>,
    /// Present if outer products are recorded.
    recorder: Option<Recorder>,
}

impl Gradients {
    /// Compiles the step for full batches. Its memory is allocated at the first run.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled, or the model does not allow per-example clipping.
    pub(crate) fn new(source: BatchSource, rule: &StepRule, batch_size: usize) -> Result<Self, StepError> {
        let is_accumulating = rule.accumulation_steps > 1;
        let is_in_parts = is_accumulating || rule.privacy.is_some();
        let mut gradients = Self {
            recorder: None,
            source,
            micro_batch: is_in_parts.then_some(rule.batch_size),
            accumulator: Accumulator::default(),
            is_accumulated: false,
            programs: Vec::new(),
            per_example: None,
        };
        let Some(GradientClipping::PerExampleNorm(bound)) = rule.clipping else {
            gradients.programs.push(BatchProgram::compile(
                &gradients.source,
                batch_size,
                gradients.source.step.has_shares,
            )?);
            if is_accumulating {
                gradients.accumulator = Accumulator::new(gradients.trained_count());
            }
            return Ok(gradients);
        };
        let program = BatchProgram::compile(&gradients.source, 1, false)?;
        if program.mixes_examples() {
            return Err(FitError::MixedExamples.into());
        }
        let per_example = PerExample::new(&program, batch_size, bound, rule.privacy);
        gradients.per_example = Some(per_example);
        gradients.programs.push(program);
        Ok(gradients)
    }

    /// Prepares for other examples, with this full batch size.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step cannot be compiled within the limit.
    pub(crate) fn restart(&mut self, batch_size: usize, limit: MemoryLimit) -> Result<(), StepError> {
        match (&mut self.per_example, self.programs.last()) {
            (Some(per_example), Some(program)) => per_example.make_room(program, batch_size),
            _ => self.prepare(batch_size, limit)?,
        }
        self.keep_within(batch_size, limit)
    }

    /// Computes the gradient of a step, one micro-batch after another, and stores the running statistics after each.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the step is not compiled yet and cannot be compiled within the limit.
    pub(crate) fn run(
        &mut self,
        step: &StepInput<'_>,
        batch: &mut Batch,
        beside: &mut Beside<'_>,
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<Measured, StepError> {
        let step_examples = step.rows.len();
        let micro_batch = self.micro_batch.unwrap_or(step_examples).max(1);
        self.is_accumulated = step_examples > micro_batch;
        if let Some(per_example) = &mut self.per_example {
            per_example.begin();
        }
        let step_weight = self.step_weight(step);
        let mut measured = Measured { example_count: step_examples as u64, ..Measured::default() };
        for (index, rows) in step.rows.chunks(micro_batch).enumerate() {
            let part = Part { index, before: index * micro_batch, examples: rows.len(), step_examples };
            batch.fill_part(step.examples, rows, step_weight);
            observe("gather batch", 0);
            if let Some(augmenter) = &mut beside.augmenter {
                let altered = AugmentedStep { examples: step.examples, rows: step.rows, seed: step.seed };
                batch.augment(augmenter, altered, part.before..part.before + rows.len());
                observe("augment", 0);
            }
            if let Some((references, version)) = &mut beside.references {
                references.compute(version, batch.features(), rows.len())?;
                observe("contrast", 0);
            }
            let references = beside.references.as_ref().map(|(references, _)| references.features());
            let loss = self.run_part(step, part, rows, (batch, references), weights, observe)?;
            measured.loss = if part.is_first() { loss } else { measured.loss + loss };
            let StepSource { objective, layout, .. } = &self.source.step;
            measured.correct_count +=
                correct_examples(objective.loss, layout, self.outputs(), batch.labels());
            observe("metrics", 0);
        }
        if let Some(per_example) = &self.per_example {
            measured.loss = per_example.loss();
        }
        Ok(measured)
    }

    /// Returns the divisor of the example weights in a step. With example privacy it is 1: if weights were divided by
    /// their sum, the gradient of one example would depend on the weights of the others.
    fn step_weight(&self, step: &StepInput<'_>) -> f64 {
        match &self.per_example {
            Some(per_example) if per_example.is_private() => 1.0,
            _ => weight_sum(step.examples, step.rows),
        }
    }

    /// Ends a step that added `factor` times its gradient to the weights.
    pub(crate) fn conclude(&mut self, factor: f64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.conclude(factor);
        }
    }

    /// Starts recording a training run that sees this many examples, if any matrices are recorded.
    pub(crate) fn record(&mut self, examples: u64) {
        let recorded = &self.source.recorded;
        self.recorder = (!recorded.is_empty()).then(|| Recorder::new(recorded, examples));
    }

    /// Returns the recorder, if outer products are recorded.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Adds the noise of example privacy to the gradient of the last step. Before this call, the step has no gradient.
    pub(crate) fn release(&mut self, chance: &mut dyn SecretChance) {
        if let Some(per_example) = &mut self.per_example {
            per_example.release(chance);
        }
    }

    /// Runs a micro-batch, and returns its part of the step's loss.
    fn run_part(
        &mut self,
        step: &StepInput<'_>,
        part: Part,
        rows: &[usize],
        (batch, references): (&Batch, Option<[&[f32]; 2]>),
        weights: &mut [f32],
        observe: Observer<'_>,
    ) -> Result<f64, StepError> {
        if self.per_example.is_none() {
            self.prepare(part.examples, step.limit)?;
        }
        let program = self.programs.last_mut().expect("there is always at least one program");
        program.reserve()?;
        if let Some(per_example) = &mut self.per_example {
            per_example.run(program, weights, batch, part, rows, step.seed);
            observe("examples one by one", 0);
            return Ok(per_example.loss());
        }
        let seed = if part.is_whole() { step.seed } else { step_seed(step.seed, part.index as u64) };
        program.run(weights, batch, references, seed, observe);
        program.store_statistics(weights);
        let share = part.share(self.source.step.has_shares);
        if let Some(recorder) = &mut self.recorder {
            recorder.note(program, if part.is_whole() { 1.0 } else { share as f32 });
        }
        if !part.is_whole() {
            self.accumulator.add(program, part, share);
            observe("accumulate", 0);
        }
        Ok(share * program.loss())
    }

    /// Moves the program of this batch size to the end of the list, and compiles it if necessary. Evicts the least
    /// recently used programs if there are too many.
    fn prepare(&mut self, batch_size: usize, limit: MemoryLimit) -> Result<(), StepError> {
        match self.programs.iter().position(|program| program.batch_size() == batch_size) {
            Some(index) => self.programs[index..].rotate_left(1),
            None => {
                self.programs.push(BatchProgram::compile(
                    &self.source,
                    batch_size,
                    self.source.step.has_shares,
                )?);
                while self.programs.len() > PROGRAMS && !self.may_keep_all() {
                    self.programs.remove(0);
                }
                self.keep_within(batch_size, limit)?;
            }
        }
        Ok(())
    }

    fn may_keep_all(&self) -> bool {
        self.programs.len() <= PROGRAMS_MAX && self.memory_bytes() <= PROGRAM_BYTES_MAX
    }

    /// Evicts all programs but the last if they do not fit within the limit together.
    ///
    /// # Errors
    /// Returns [`StepError::Memory`] if the last program alone exceeds the limit.
    fn keep_within(&mut self, batch_size: usize, limit: MemoryLimit) -> Result<(), StepError> {
        if limit.check(batch_size, self.memory_bytes()).is_ok() {
            return Ok(());
        }
        self.programs.drain(..self.programs.len() - 1);
        limit.check(batch_size, self.memory_bytes())
    }

    /// Returns the program that ran last.
    fn program(&self) -> &BatchProgram {
        self.programs.last().expect("there is always at least one program")
    }

    /// Returns the model's outputs for the last micro-batch.
    fn outputs(&self) -> &[f32] {
        match &self.per_example {
            Some(per_example) => per_example.outputs(),
            None => self.program().output(),
        }
    }

    /// Returns the range of each trained tensor in the weights, and its gradient for the last step.
    pub(crate) fn gradients(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &[f32])> + Clone {
        let flat = match &self.per_example {
            Some(per_example) => Some(per_example.gradient()),
            None => self.is_accumulated.then(|| self.accumulator.gradient()),
        };
        let mut start = 0;
        self.program().trained().iter().enumerate().map(move |(index, range)| {
            let begin = start;
            start += range.len();
            let gradient = match flat {
                Some(flat) => &flat[begin..start],
                None => self.program().gradient(index),
            };
            (range.clone(), gradient)
        })
    }

    /// Returns the integer sums before noise, and the sensitivity: the maximum change of a sum by one example.
    #[cfg(test)]
    pub(crate) fn private_sum(&self) -> (&[i64], u64) {
        self.per_example.as_ref().expect("the plan asks for example privacy").private_sum()
    }

    /// Replaces the gradient of the last step, one tensor after another.
    pub(crate) fn replace(&mut self, gradient: &[f64]) {
        self.accumulator.replace(gradient);
        self.is_accumulated = true;
    }

    /// Returns the number of trained weights.
    pub(crate) fn trained_count(&self) -> usize {
        self.program().trained().iter().map(|range| range.len()).sum()
    }

    /// Returns the shape of each trained tensor, in the order of [`Gradients::gradients`].
    pub(crate) fn trained_shapes(&self) -> Vec<MatrixShape> {
        self.program().trained_shapes(&self.source)
    }

    /// Returns the source of the programs.
    pub(crate) fn source(&self) -> &BatchSource {
        &self.source
    }

    /// Returns the number of bytes that all programs and the buffers for per-example clipping and accumulation take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let programs: usize = self.programs.iter().map(BatchProgram::memory_bytes).sum();
        let programs = programs + self.accumulator.memory_bytes();
        let programs = programs + self.recorder.as_ref().map_or(0, Recorder::memory_bytes);
        programs + self.per_example.as_ref().map_or(0, PerExample::memory_bytes)
    }
}
