//! The losses, as graph nodes, and as formulas in double precision for metrics and tests.

mod classification;
mod contrast;
mod margin;
mod regression;
mod right;
mod score;

use folkmoot_protocol::{Loss, TrainingPlan};

use folkmoot_graph::op::{ElementOp, Reduction, ShapeError};
use folkmoot_graph::{Graph, ValueId};

pub use contrast::contrast;
pub use right::right_answers;
pub use score::example_loss;

/// A plan's loss, with the terms that training adds to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The loss of one example.
    pub loss: Loss,
    /// The share of the uniform distribution in a target.
    label_smoothing: f32,
    /// The weight of each class; empty if all count equally.
    pub class_weights: Vec<f32>,
}

impl Objective {
    /// Returns the objective of a plan.
    pub fn of(plan: &TrainingPlan) -> Self {
        let class_weights = plan.class_weights.clone();
        Self { loss: plan.loss, label_smoothing: plan.label_smoothing, class_weights }
    }

    /// Returns a loss to which nothing is added.
    #[cfg(test)]
    pub(crate) fn plain(loss: Loss) -> Self {
        Self { loss, label_smoothing: 0.0, class_weights: Vec::new() }
    }
}

/// The way in which labels are compared with outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelForm {
    /// Class numbers along the last axis of the outputs.
    Classes,
    /// One number for each output.
    Values,
    /// This many numbers for each example, which the loss ignores.
    Ignored(usize),
}

/// The sizes of one example's outputs, and the form of its labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The form of the labels.
    pub form: LabelForm,
    /// The size of the last axis of the outputs; 1 if an example has a single output without an axis.
    pub classes: usize,
    /// The axes before the last.
    positions: Vec<usize>,
}

impl Layout {
    /// Creates the layout; `output_shape` is the shape of one example's outputs.
    pub fn new(output_shape: &[usize], form: LabelForm) -> Self {
        let (classes, positions) = output_shape.split_last().unwrap_or((&1, &[]));
        Self { form, classes: *classes, positions: positions.to_vec() }
    }

    /// Returns the number of outputs per example.
    pub fn outputs_per_example(&self) -> usize {
        self.classes * self.positions.iter().product::<usize>()
    }

    /// Returns the number of labels per example.
    pub fn labels_per_example(&self) -> usize {
        match self.form {
            LabelForm::Classes => self.positions.iter().product(),
            LabelForm::Values => self.outputs_per_example(),
            LabelForm::Ignored(count) => count,
        }
    }

    /// Returns the shape of a batch's outputs; its last axis is always the classes.
    fn output_shape(&self, batch: usize) -> Vec<usize> {
        [&[batch], &self.positions[..], &[self.classes]].concat()
    }

    /// Returns the shape of a batch's labels.
    pub fn label_shape(&self, batch: usize) -> Vec<usize> {
        match self.form {
            LabelForm::Classes => [&[batch], &self.positions[..]].concat(),
            LabelForm::Values => self.output_shape(batch),
            LabelForm::Ignored(count) => vec![batch, count],
        }
    }
}

/// Appends the mean loss of a batch, as a scalar.
///
/// `output` is `[batch, …]` in this layout, `labels` has the shape [`Layout::label_shape`]. `shares` is `[batch]`, the
/// share of each example in the mean; without it, all examples count equally.
///
/// # Errors
/// Returns a [`ShapeError`] if a shape does not match the layout.
pub fn build(
    graph: &mut Graph,
    objective: &Objective,
    layout: &Layout,
    output: ValueId,
    labels: ValueId,
    shares: Option<ValueId>,
) -> Result<ValueId, ShapeError> {
    let batch = graph.shape(output).first().copied().unwrap_or(1);
    let output = graph.reshape(output, &layout.output_shape(batch))?;
    let targets = match layout.form {
        LabelForm::Classes => one_hot(graph, layout, labels)?,
        LabelForm::Values | LabelForm::Ignored(_) => labels,
    };
    let weights = weights_of_classes(graph, &objective.class_weights, targets)?;
    let targets = smoothed(graph, objective.label_smoothing, layout, targets)?;
    let losses = match objective.loss {
        Loss::SoftmaxCrossEntropy => classification::softmax_cross_entropy(graph, output, targets),
        Loss::KlDivergence => classification::kl_divergence(graph, output, targets),
        Loss::BinaryCrossEntropy => margin::binary_cross_entropy(graph, output, targets),
        Loss::Hinge => margin::hinge(graph, output, targets),
        Loss::MeanSquaredError => regression::squared_error(graph, output, targets),
        Loss::MeanAbsoluteError => regression::absolute_error(graph, output, targets),
        Loss::Huber { delta } => regression::huber(graph, output, targets, delta),
        Loss::Cosine => regression::cosine(graph, output, targets),
        Loss::GeneralizedCrossEntropy { q } => {
            classification::generalized_cross_entropy(graph, output, targets, q)
        }
        Loss::SymmetricCrossEntropy { alpha, beta, floor } => {
            classification::symmetric_cross_entropy(graph, output, targets, [alpha, beta, floor])
        }
        Loss::ModelOutput => Ok(output),
    }?;
    let losses = match weights {
        Some(weights) => graph.element(ElementOp::Multiply, &[losses, weights])?,
        None => losses,
    };
    mean(graph, losses, shares)
}

/// Σ t·weight over the classes: the weight of each label.
fn weights_of_classes(
    graph: &mut Graph,
    weights: &[f32],
    targets: ValueId,
) -> Result<Option<ValueId>, ShapeError> {
    if weights.is_empty() {
        return Ok(None);
    }
    let weights = weights.iter().copied().map(f64::from).collect::<Vec<_>>();
    let weights = graph.add_constant(&[weights.len()], weights);
    classification::expectation(graph, targets, weights).map(Some)
}

/// 1 at the class of each position, 0 elsewhere: `[batch, positions…, classes]`.
fn one_hot(graph: &mut Graph, layout: &Layout, labels: ValueId) -> Result<ValueId, ShapeError> {
    let shape = [graph.shape(labels), &[1]].concat();
    let labels = graph.reshape(labels, &shape)?;
    let numbers =
        graph.add_constant(&[layout.classes], (0..layout.classes).map(|class| class as f64).collect());
    graph.element(ElementOp::Equal, &[labels, numbers])
}

/// (1 − smoothing)·t + smoothing / classes (Szegedy et al. 2016, section 7).
fn smoothed(
    graph: &mut Graph,
    smoothing: f32,
    layout: &Layout,
    targets: ValueId,
) -> Result<ValueId, ShapeError> {
    if smoothing == 0.0 {
        return Ok(targets);
    }
    let smoothing = f64::from(smoothing);
    let scaled = graph.element_with(ElementOp::Multiply, targets, 1.0 - smoothing)?;
    graph.element_with(ElementOp::Add, scaled, smoothing / layout.classes as f64)
}

/// Returns the mean over `[batch, …]`, in which each example counts by its share.
fn mean(graph: &mut Graph, losses: ValueId, shares: Option<ValueId>) -> Result<ValueId, ShapeError> {
    let axes: Vec<usize> = (0..graph.shape(losses).len()).collect();
    let mean = match shares {
        None => graph.mean(losses, &axes)?,
        Some(shares) => {
            let of_examples = graph.mean(losses, &axes[1..])?;
            let shape = graph.shape(of_examples).to_vec();
            let shares = graph.reshape(shares, &shape)?;
            let weighted = graph.element(ElementOp::Multiply, &[of_examples, shares])?;
            graph.reduce(Reduction::Sum, weighted, &axes)
        }
    };
    graph.reshape(mean, &[])
}

#[cfg(test)]
mod tests;
