//! The optimizers, one file each: loops over flat slices of weights, gradients and state, or over whole tensors.

mod adafactor;
mod adagrad;
mod adam;
mod adamw;
mod lion;
mod muon;
mod rms_prop;
mod sgd;
pub(super) mod sophia;

use folkmoot_protocol::LocalOptimizer;

/// The maximum number of state values per weight.
pub(crate) const SLOTS_MAX: usize = 2;

/// The position of a step in training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepNumber {
    /// The number of the step, counted from 1.
    pub(crate) number: u64,
    /// The learning rate of this step.
    pub(crate) learning_rate: f32,
}

/// Updates weights from a gradient.
pub(crate) trait Optimizer: Send + Sync {
    /// Returns the number of state values per weight, up to [`SLOTS_MAX`]; they start at 0.
    fn slots(&self) -> usize;

    /// Updates some of the weights.
    ///
    /// All slices have the same length, except that those of `state` beyond [`Optimizer::slots`] are empty.
    fn update(&self, step: StepNumber, weights: &mut [f32], gradient: &[f32], state: [&mut [f32]; SLOTS_MAX]);
}

/// A tensor as a matrix: the first dimension above 1 by all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MatrixShape {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl MatrixShape {
    /// Returns the shape, of one column for a vector or a number.
    pub(crate) fn of(shape: &[usize]) -> Self {
        let rows = shape.iter().copied().find(|size| *size != 1).unwrap_or(1);
        Self { rows, columns: shape.iter().product::<usize>() / rows.max(1) }
    }

    /// Returns whether there are at least two rows and two columns.
    fn is_matrix(self) -> bool {
        self.rows > 1 && self.columns > 1
    }

    fn elements(self) -> usize {
        self.rows * self.columns
    }
}

/// Updates all weights of a tensor together.
pub(crate) trait TensorOptimizer: Send + Sync {
    /// Returns the number of state values of a tensor; they start at 0.
    fn state_length(&self, shape: MatrixShape) -> usize;

    /// Returns the number of values that an update needs as workspace.
    fn workspace_length(&self, shape: MatrixShape) -> usize;

    /// Updates a tensor. `gradient` has its gradient, and may be changed. `workspace` is at least as long as needed.
    fn update(
        &self,
        step: StepNumber,
        shape: MatrixShape,
        weights: &mut [f32],
        gradient: &mut [f32],
        state: &mut [f32],
        workspace: &mut [f32],
    );
}

/// The rule of a plan's optimizer.
pub(crate) enum Rule {
    /// A rule for each element.
    Elements(Box<dyn Optimizer>),
    /// A rule for each tensor.
    Tensors(Box<dyn TensorOptimizer>),
}

impl Rule {
    /// Returns the number of state values of a tensor.
    pub(crate) fn state_length(&self, shape: MatrixShape) -> usize {
        match self {
            Self::Elements(optimizer) => optimizer.slots() * shape.elements(),
            Self::Tensors(optimizer) => optimizer.state_length(shape),
        }
    }

    /// Returns the number of values that an update of any of these tensors needs as workspace, with room for its gradient.
    pub(crate) fn workspace_length(&self, shapes: &[MatrixShape]) -> usize {
        let Self::Tensors(optimizer) = self else { return 0 };
        let needed = |shape: &MatrixShape| shape.elements() + optimizer.workspace_length(*shape);
        shapes.iter().map(needed).max().unwrap_or(0)
    }
}

/// Returns the rule of a plan.
pub(crate) fn rule(plan: LocalOptimizer) -> Rule {
    match plan {
        LocalOptimizer::Muon { momentum, beta1, beta2, epsilon, weight_decay, .. } => {
            let adam = adam::Adam { beta1, beta2, epsilon, weight_decay: 0.0 };
            let others = adamw::AdamW { adam, weight_decay };
            Rule::Tensors(Box::new(muon::Muon { momentum, weight_decay, others }))
        }
        LocalOptimizer::Adafactor { decay_exponent, update_max, scale_min, weight_decay, .. } => {
            Rule::Tensors(Box::new(adafactor::Adafactor {
                decay_exponent,
                update_max,
                scale_min,
                weight_decay,
            }))
        }
        // The gradient of a step is replaced by Newton's direction.
        LocalOptimizer::Newton { .. } => {
            Rule::Elements(Box::new(sgd::Sgd { momentum: 0.0, nesterov: false, weight_decay: 0.0 }))
        }
        LocalOptimizer::Sophia { beta1, gamma, epsilon, weight_decay, .. } => {
            Rule::Elements(Box::new(sophia::Sophia { beta1, gamma, epsilon, weight_decay }))
        }
        LocalOptimizer::Sgd { momentum, nesterov, weight_decay, .. } => {
            Rule::Elements(Box::new(sgd::Sgd { momentum, nesterov, weight_decay }))
        }
        LocalOptimizer::Adam { beta1, beta2, epsilon, weight_decay, .. } => {
            Rule::Elements(Box::new(adam::Adam { beta1, beta2, epsilon, weight_decay }))
        }
        LocalOptimizer::AdamW { beta1, beta2, epsilon, weight_decay, .. } => {
            let adam = adam::Adam { beta1, beta2, epsilon, weight_decay: 0.0 };
            Rule::Elements(Box::new(adamw::AdamW { adam, weight_decay }))
        }
        LocalOptimizer::Adagrad { epsilon, weight_decay, .. } => {
            Rule::Elements(Box::new(adagrad::Adagrad { epsilon, weight_decay }))
        }
        LocalOptimizer::RmsProp { decay, epsilon, momentum, weight_decay, .. } => {
            Rule::Elements(Box::new(rms_prop::RmsProp { decay, epsilon, momentum, weight_decay }))
        }
        LocalOptimizer::Lion { beta1, beta2, weight_decay, .. } => {
            Rule::Elements(Box::new(lion::Lion { beta1, beta2, weight_decay }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_matrices_of_their_first_dimension_above_one() {
        for (shape, rows, columns) in [
            (&[8, 3, 5, 5][..], 8, 75),
            (&[1, 12, 4], 12, 4),
            (&[16, 1, 3, 3], 16, 9),
            (&[7], 7, 1),
            (&[1, 7, 1], 7, 1),
            (&[], 1, 1),
            (&[0, 3], 0, 0),
        ] {
            let found = MatrixShape::of(shape);
            assert_eq!(found, MatrixShape { rows, columns }, "{shape:?}");
            assert_eq!(found.is_matrix(), rows > 1 && columns > 1);
        }
    }

    /// Returns one weight after each of two steps with learning rate ½ and these gradients.
    pub(crate) fn two_steps(optimizer: &dyn Optimizer, start: f32, gradients: [f32; 2]) -> [f32; 2] {
        let (mut weight, mut state) = ([start], [[0.0]; SLOTS_MAX]);
        let mut number = 0;
        gradients.map(|gradient| {
            number += 1;
            let slots = optimizer.slots();
            let [first, second] = &mut state;
            let slot = |slot: &'_ mut [f32; 1], index: usize| -> Vec<f32> {
                if index < slots { slot.to_vec() } else { Vec::new() }
            };
            let (mut one, mut two) = (slot(first, 0), slot(second, 1));
            let step = StepNumber { number, learning_rate: 0.5 };
            optimizer.update(step, &mut weight, &[gradient], [&mut one, &mut two]);
            for (slot, kept) in state.iter_mut().zip([one, two]) {
                slot[..kept.len()].copy_from_slice(&kept);
            }
            weight[0]
        })
    }

    pub(crate) fn assert_close(found: [f32; 2], expected: [f64; 2]) {
        let is_close = |(found, expected): (&f32, &f64)| (f64::from(*found) - expected).abs() < 1e-6;
        assert!(found.iter().zip(&expected).all(is_close), "{found:?}, not {expected:?}");
    }
}
