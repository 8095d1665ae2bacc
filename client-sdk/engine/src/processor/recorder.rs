//! Outer products that add up to the change of dense layers, recorded step by step.

use folkmoot_protocol::OuterProducts;

use super::batch_program::BatchProgram;
use super::recorded::Recorded;

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
