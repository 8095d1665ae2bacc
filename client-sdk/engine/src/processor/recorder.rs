//! Records, step by step, the outer products whose sum is the change of dense layers.

use folkmoot_protocol::OuterProducts;

use super::batch_program::BatchProgram;
use super::recorded::Recorded;

/// The outer products of all training steps so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    matrices: Vec<Matrix>,
    /// The number of recorded steps, counted from the first step on.
    steps: u64,
}

#[derive(Debug)]
struct Matrix {
    recorded: Recorded,
    /// The recorded products. `None` as soon as the products have more numbers than the matrix.
    products: Option<OuterProducts>,
    /// The number of products from earlier steps.
    concluded: usize,
}

impl Recorder {
    /// Creates a recorder for a training run that sees this many examples.
    pub(crate) fn new(recorded: &[Recorded], examples: u64) -> Self {
        let matrix = |one: &Recorded| Matrix { recorded: *one, products: one.begin(examples), concluded: 0 };
        Self { matrices: recorded.iter().map(matrix).collect(), steps: 0 }
    }

    /// Records the gradient of the program's last batch. `share` is the batch's factor in the step.
    pub(crate) fn note(&mut self, program: &BatchProgram, share: f32) {
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

    /// Returns the products of a parameter's change, if exactly this many steps were recorded.
    pub(crate) fn products(&self, parameter: usize, steps: u64) -> Option<&OuterProducts> {
        let matrix = self.matrices.iter().find(|matrix| matrix.recorded.parameter == parameter)?;
        matrix.products.as_ref().filter(|_| self.steps == steps)
    }

    /// Returns the number of bytes that the recorder holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bytes = |products: &OuterProducts| {
            (products.left.capacity() + products.right.capacity()) * size_of::<f32>()
        };
        self.matrices.iter().filter_map(|matrix| matrix.products.as_ref()).map(bytes).sum()
    }
}
