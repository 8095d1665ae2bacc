//! A step's computation on a batch, compiled for one batch size.

use std::collections::BTreeMap;
use std::ops::Range;

use folkmoot_graph::program::{Program, ProgramMemory};
use folkmoot_graph::step::{Observer, StepGraph};
use folkmoot_graph::{Element, ValueId};
use folkmoot_protocol::OuterProducts;

use super::dense_gradients::{DenseSlope, Side, dense_slopes};
use super::optimizer::MatrixShape;
use super::recorded::Recorded;
use crate::batch::Batch;
use crate::step::{StepError, StepForm, StepSource, step_graph};

/// The source from which programs of all batch sizes are compiled.
#[derive(Clone)]
pub(crate) struct BatchSource {
    pub(crate) step: StepSource,
    /// The number of threads for a run; 1 or more.
    pub(crate) threads: usize,
    /// The matrices whose outer products are recorded.
    pub(crate) recorded: Vec<Recorded>,
}

impl BatchSource {
    /// Creates a source for one thread, without recording.
    pub(crate) fn new(step: StepSource) -> Self {
        Self { step, threads: 1, recorded: Vec::new() }
    }
}

/// Forward pass, loss, gradients and new running statistics of a batch.
///
/// The outputs of the program are the model's output, the loss, the gradients and the statistics.
pub(crate) struct BatchProgram<E = f32> {
    program: Program<E>,
    batch_size: usize,
    has_shares: bool,
    mixes_examples: bool,
    /// The ranges of the weights that have gradients.
    trained: Vec<Range<usize>>,
    /// The ranges of the weights that are updated statistics.
    statistics: Vec<Range<usize>>,
    /// The recorded parameters, each with the matrix products that make up its gradient. The factors of these products
    /// are the last outputs.
    dense: Vec<(usize, Vec<DenseSlope>)>,
}

const OUTPUT: usize = 0;
const LOSS: usize = 1;
const GRADIENTS: usize = 2;

impl<E: Element> BatchProgram<E> {
    /// Compiles the step for this batch size. `has_shares` is true if the examples are weighted.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the model does not allow this batch size, or the loss depends on no trained weight.
    pub(crate) fn compile(
        source: &BatchSource,
        batch_size: usize,
        has_shares: bool,
    ) -> Result<Self, StepError> {
        let form = StepForm { batch_size, has_shares, has_scale: false, has_right: false };
        let step = step_graph(&source.step, form)?;
        let ranges = &source.step.parameters.ranges;
        let place = |(index, value): &(usize, ValueId)| (ranges[*index].clone(), *value);
        let (trained, slopes): (Vec<_>, Vec<_>) = step.slopes.iter().map(place).unzip();
        let (statistics, new_values): (Vec<_>, Vec<_>) = step.statistics.iter().map(place).unzip();
        let dense = dense(source, &step);
        let sides = dense.iter().flat_map(|(_, slopes)| slopes);
        let sides: Vec<ValueId> = sides.flat_map(|slope| [slope.left.value, slope.right.value]).collect();
        let outputs = [&[step.output, step.loss], &slopes[..], &new_values[..], &sides[..]].concat();
        let program = Program::plan(&step.graph, &outputs, ranges, source.threads);
        let mixes_examples = step.mixes_examples;
        Ok(Self { program, batch_size, has_shares, mixes_examples, trained, statistics, dense })
    }

    /// Allocates the memory of runs, unless that has been done already.
    ///
    /// # Errors
    /// Returns a [`StepError`] if the memory cannot be allocated.
    pub(crate) fn reserve(&mut self) -> Result<(), StepError> {
        Ok(self.program.reserve()?)
    }

    /// Returns the number of elements of the model's output.
    pub(crate) fn output_length(&self) -> usize {
        self.program.output_length(OUTPUT)
    }

    pub(crate) fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// Runs with these inputs: features, labels, and the shares of the examples if compiled with shares.
    pub(crate) fn run_inputs(&mut self, weights: &[E], inputs: &[&[E]], seed: u64) {
        self.program.run(weights, inputs, seed);
    }

    /// Returns the model's output for the last batch.
    pub(crate) fn output(&self) -> &[E] {
        self.program.output(OUTPUT)
    }

    /// Returns the mean loss of the last batch.
    pub(crate) fn loss(&self) -> f64 {
        self.program.output(LOSS).first().map_or(f64::NAN, |loss| loss.to_f64())
    }

    /// Returns the ranges of the trained tensors in the weights.
    pub(crate) fn trained(&self) -> &[Range<usize>] {
        &self.trained
    }

    /// Returns the shapes of these tensors, from the source of this program.
    pub(crate) fn trained_shapes(&self, source: &BatchSource) -> Vec<MatrixShape> {
        let specs = source.step.model.parameters().iter().zip(&source.step.parameters.ranges);
        let shapes = specs.filter(|(_, range)| self.trained.contains(range));
        shapes.map(|(spec, _)| MatrixShape::of(&spec.shape)).collect()
    }

    /// Returns the gradient of the last batch's loss for a tensor of [`BatchProgram::trained`].
    pub(crate) fn gradient(&self, index: usize) -> &[E] {
        self.program.output(GRADIENTS + index)
    }

    /// Returns whether examples of a batch influence each other, as in batch normalisation.
    pub(crate) fn mixes_examples(&self) -> bool {
        self.mixes_examples
    }

    /// Returns the program's memory by part.
    pub(crate) fn memory(&self) -> ProgramMemory {
        self.program.memory()
    }

    /// Returns the number of floating-point operations in a run.
    pub(crate) fn flops(&self) -> u64 {
        self.program.flops()
    }

    /// Returns the number of kernels in a run, by kind.
    pub(crate) fn kernels(&self) -> BTreeMap<&'static str, usize> {
        self.program.kernels()
    }

    /// Returns the number of bytes that the program holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.program.memory_bytes()
    }
}

impl BatchProgram {
    /// Runs a batch that has the compiled size, and shares if compiled with shares.
    ///
    /// `references` are the features in other models, for a program that contrasts its own with them.
    pub(crate) fn run(
        &mut self,
        weights: &[f32],
        batch: &Batch,
        references: Option<[&[f32]; 2]>,
        seed: u64,
        observe: Observer<'_>,
    ) {
        let ([features, labels, shares], [version, previous]) =
            (batch.inputs(), references.unwrap_or_default());
        let all = match self.has_shares {
            true => [features, labels, shares, version, previous],
            false => [features, labels, version, previous, &[]],
        };
        let count = 2 + usize::from(self.has_shares) + if references.is_some() { 2 } else { 0 };
        self.program.run_observed(weights, &all[..count], seed, observe);
    }

    /// Appends outer products that add up to `share` times a matrix's gradient in the last batch. Leaves out zero
    /// products. Returns `None` if the gradient is not a sum of outer products, or if the products would need more
    /// numbers than the matrix.
    pub(crate) fn append_products(
        &self,
        matrix: Recorded,
        share: f32,
        mut products: OuterProducts,
    ) -> Option<OuterProducts> {
        let mut output = GRADIENTS + self.trained.len() + self.statistics.len();
        for (parameter, slopes) in &self.dense {
            if *parameter == matrix.parameter {
                for (pair, slope) in slopes.iter().enumerate() {
                    let [left, right] = [0, 1].map(|side| self.program.output(output + 2 * pair + side));
                    append(slope, [left, right], share, matrix.count_max(), &mut products)?;
                }
                return Some(products);
            }
            output += 2 * slopes.len();
        }
        None
    }

    /// Runs a program of batch size 1 on one example of a larger batch.
    pub(crate) fn run_example(
        &mut self,
        weights: &[f32],
        batch: &Batch,
        example: usize,
        examples: usize,
        seed: u64,
    ) {
        let row = |all: &'_ [f32]| -> Range<usize> {
            let width = all.len() / examples;
            example * width..(example + 1) * width
        };
        let (features, labels) = (batch.features(), batch.labels());
        self.run_inputs(weights, &[&features[row(features)], &labels[row(labels)]], seed);
    }

    /// Copies the last batch's running statistics into the weights.
    pub(crate) fn store_statistics(&self, weights: &mut [f32]) {
        for (index, range) in self.statistics.iter().enumerate() {
            let output = GRADIENTS + self.trained.len() + index;
            weights[range.clone()].copy_from_slice(self.program.output(output));
        }
    }
}

/// Finds the matrix products that make up the recorded parameters' gradients.
fn dense(source: &BatchSource, step: &StepGraph) -> Vec<(usize, Vec<DenseSlope>)> {
    let slope = |parameter| step.slopes.iter().find(|(index, _)| *index == parameter);
    let found = source.recorded.iter().filter_map(|one| {
        let (_, slope) = slope(one.parameter)?;
        Some((one.parameter, dense_slopes(&step.graph, *slope, one.rows, one.columns)?))
    });
    found.collect()
}

/// Appends one layer's outer products; returns `None` if there would be more than `count_max`.
fn append(
    slope: &DenseSlope,
    [left, right]: [&[f32]; 2],
    share: f32,
    count_max: usize,
    products: &mut OuterProducts,
) -> Option<()> {
    for index in 0..slope.count {
        let is_zero =
            |side: &Side, values| vector(side, values, slope.count, index).all(|element| element == 0.0);
        if is_zero(&slope.left, left) || is_zero(&slope.right, right) {
            continue;
        }
        if products.count == count_max {
            return None;
        }
        products.count += 1;
        products.left.extend(vector(&slope.left, left, slope.count, index).map(|element| share * element));
        products.right.extend(vector(&slope.right, right, slope.count, index));
    }
    Some(())
}

/// Returns one vector of a stored matrix.
fn vector<'a>(
    side: &Side,
    values: &'a [f32],
    count: usize,
    index: usize,
) -> impl Iterator<Item = f32> + use<'a> {
    let (first, step) = if side.are_rows { (index * side.length, 1) } else { (index, count) };
    values[first..].iter().step_by(step).take(side.length).copied()
}
