//! Outer products that add up to the change of dense layers, recorded step by step.

use folkmoot_protocol::{GradientClipping, LocalOptimizer, OuterProducts, Precision, TrainingPlan};

use super::batch_program::StepProgram;

/// A matrix of which products are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The position among the model's parameters.
    pub(crate) parameter: usize,
    /// The first dimension.
    pub(crate) rows: usize,
    /// All others together.
    pub(crate) columns: usize,
}

impl Recorded {
    /// Products that are no more numbers than the matrix, at most.
    pub(crate) fn count_max(self) -> usize {
        self.rows.saturating_mul(self.columns) / (self.rows + self.columns).max(1)
    }

    /// Says whether one product for each of so many examples takes no more numbers than the matrix.
    pub(crate) fn pays(self, examples: u64) -> bool {
        examples <= self.count_max() as u64
    }

    /// No products, with room for one for each of these examples; nothing if they would not pay.
    fn begin(self, examples: u64) -> Option<OuterProducts> {
        let count = usize::try_from(examples).ok().filter(|_| self.pays(examples))?;
        let room = |length| Vec::with_capacity(count * length);
        Some(OuterProducts { count: 0, left: room(self.rows), right: room(self.columns) })
    }
}

/// Says whether a plan's steps add nothing to weights but a multiple of the gradient: then the change of a dense layer is the sum of
/// the products of all steps.
pub(crate) fn is_sum_of_gradients(plan: &TrainingPlan) -> bool {
    let is_plain = matches!(
        plan.optimizer,
        LocalOptimizer::Sgd { momentum, weight_decay, .. } if momentum == 0.0 && weight_decay == 0.0
    );
    let is_scaled_alike = matches!(plan.gradient_clipping, None | Some(GradientClipping::Norm(_)));
    is_plain
        && is_scaled_alike
        && plan.proximal_term == 0.0
        && plan.example_privacy.is_none()
        && plan.precision == Precision::Single
}

/// The outer products of a training's steps so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    matrices: Vec<Matrix>,
    /// Steps that were recorded, all from the first on.
    steps: u64,
}

#[derive(Debug)]
struct Matrix {
    recorded: Recorded,
    /// None once there are more than pay.
    products: Option<OuterProducts>,
    /// Products of the steps before this one.
    concluded: usize,
}

impl Recorder {
    /// Records a training that sees so many examples.
    pub(crate) fn new(recorded: &[Recorded], examples: u64) -> Self {
        let matrix = |one: &Recorded| Matrix { recorded: *one, products: one.begin(examples), concluded: 0 };
        Self { matrices: recorded.iter().map(matrix).collect(), steps: 0 }
    }

    /// Notes the gradient of the batch that the program ran last, which counts `share` in its step's.
    pub(crate) fn note(&mut self, program: &StepProgram, share: f32) {
        for matrix in &mut self.matrices {
            matrix.products = matrix
                .products
                .take()
                .and_then(|products| program.append_products(matrix.recorded, share, products));
        }
    }

    /// Ends a step that added `factor` times its gradient to the weights.
    pub(crate) fn conclude(&mut self, factor: f64) {
        self.steps += 1;
        for matrix in &mut self.matrices {
            let Some(products) = &mut matrix.products else { continue };
            let new = &mut products.left[matrix.concluded * matrix.recorded.rows..];
            new.iter_mut().for_each(|element| *element = (f64::from(*element) * factor) as f32);
            matrix.concluded = products.count;
        }
    }

    /// Returns the products of a parameter's change, if all of this many steps were recorded.
    pub(crate) fn products(&self, parameter: usize, steps: u64) -> Option<&OuterProducts> {
        let matrix = self.matrices.iter().find(|matrix| matrix.recorded.parameter == parameter)?;
        matrix.products.as_ref().filter(|_| self.steps == steps)
    }

    /// Bytes that it holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bytes = |products: &OuterProducts| {
            (products.left.capacity() + products.right.capacity()) * size_of::<f32>()
        };
        self.matrices.iter().filter_map(|matrix| matrix.products.as_ref()).map(bytes).sum()
    }
}
