use folkmoot_graph::multiply;

use super::adamw::AdamW;
use super::{MatrixShape, Optimizer, StepNumber, TensorOptimizer};
use crate::processor::clipping::norm;

/// The coefficients of a step of Newton-Schulz, and the number of steps (Jordan et al. 2024).
const COEFFICIENTS: [f32; 3] = [3.4445, -4.775, 2.0315];
const STEPS: usize = 5;
/// Avoids division by zero.
const NORM_MIN: f64 = 1e-7;
/// The root mean square of an update relative to that of AdamW (Liu et al. 2025, equation 4).
const SCALE: f32 = 0.2;

/// Muon for matrices, and AdamW for other tensors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Muon {
    pub(super) momentum: f32,
    pub(super) weight_decay: f32,
    pub(super) others: AdamW,
}

impl TensorOptimizer for Muon {
    fn state_length(&self, shape: MatrixShape) -> usize {
        if shape.is_matrix() { shape.elements() } else { self.others.slots() * shape.elements() }
    }

    fn workspace_length(&self, shape: MatrixShape) -> usize {
        let side = shape.rows.min(shape.columns);
        if shape.is_matrix() { 2 * shape.elements() + 2 * side * side } else { 0 }
    }

    fn update(
        &self,
        step: StepNumber,
        shape: MatrixShape,
        weights: &mut [f32],
        gradient: &mut [f32],
        state: &mut [f32],
        workspace: &mut [f32],
    ) {
        if !shape.is_matrix() {
            let (means, squares) = state.split_at_mut(weights.len());
            return self.others.update(step, weights, gradient, [means, squares]);
        }
        for (gradient, mean) in gradient.iter_mut().zip(state) {
            *mean = self.momentum * *mean + *gradient;
            *gradient += self.momentum * *mean;
        }
        orthogonalise(shape, gradient, workspace);
        let scale = SCALE * (shape.rows.max(shape.columns) as f32).sqrt();
        for (weight, direction) in weights.iter_mut().zip(gradient) {
            *weight -= step.learning_rate * (scale * *direction + self.weight_decay * *weight);
        }
    }
}

/// Brings all singular values of a matrix near 1: X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X, for X with the norm 1 at first. The shorter
/// side comes first, which keeps XXᵀ small.
fn orthogonalise(shape: MatrixShape, matrix: &mut [f32], workspace: &mut [f32]) {
    let MatrixShape { rows, columns } = shape;
    let (short, long) = (rows.min(columns), rows.max(columns));
    let (mut x, rest) = workspace.split_at_mut(short * long);
    let (mut product, rest) = rest.split_at_mut(short * long);
    let (square, rest) = rest.split_at_mut(short * short);
    let fourth = &mut rest[..short * short];
    let factor = (1.0 / (norm(std::iter::once(&*matrix)) + NORM_MIN)) as f32;
    let is_turned = rows > columns;
    let at = |row: usize, column: usize| if is_turned { column * short + row } else { row * long + column };
    for row in 0..short {
        for column in 0..long {
            x[row * long + column] = factor * matrix[at(row, column)];
        }
    }
    let [a, b, c] = COEFFICIENTS;
    for _ in 0..STEPS {
        multiply([short, long, short], x, x, true, square);
        multiply([short, short, short], square, square, false, fourth);
        square.iter_mut().zip(&*fourth).for_each(|(square, fourth)| *square = b * *square + c * fourth);
        multiply([short, short, long], square, x, false, product);
        product.iter_mut().zip(&*x).for_each(|(product, x)| *product += a * x);
        std::mem::swap(&mut x, &mut product);
    }
    for row in 0..short {
        for column in 0..long {
            matrix[at(row, column)] = x[row * long + column];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::adam::Adam;
    use super::*;

    fn orthogonalised(rows: usize, columns: usize, matrix: &[f32]) -> Vec<f32> {
        let shape = MatrixShape { rows, columns };
        let (mut matrix, mut workspace) = (matrix.to_vec(), vec![f32::NAN; 1000]);
        orthogonalise(shape, &mut matrix, &mut workspace);
        matrix
    }

    /// The five steps on a single singular value.
    fn stretched(mut value: f64) -> f64 {
        let [a, b, c] = COEFFICIENTS.map(f64::from);
        for _ in 0..STEPS {
            value = a * value + b * value.powi(3) + c * value.powi(5);
        }
        value
    }

    /// The singular values of a diagonal matrix are its elements, so the steps change each element separately.
    #[test]
    fn a_diagonal_matrix_by_hand() {
        let norm = 14f64.sqrt();
        let expected = [1.0, 2.0, -3.0].map(|value| stretched(value / norm));
        let wide = orthogonalised(3, 4, &[1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -3.0, 0.0]);
        let tall = orthogonalised(4, 3, &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0]);
        for (index, expected) in expected.into_iter().enumerate() {
            for (found, width) in [(&wide, 4), (&tall, 3)] {
                let found = f64::from(found[index * width + index]);
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
                assert!((0.65..1.25).contains(&found.abs()), "the paper's range: {found}");
            }
        }
        assert!(wide.iter().chain(&tall).filter(|value| value.abs() > 1e-6).count() == 6);
        assert_eq!(orthogonalised(2, 2, &[0.0; 4]), [0.0; 4]);
        assert!(orthogonalised(2, 2, &[f32::INFINITY, 0.0, 0.0, 1.0]).iter().any(|value| value.is_nan()));
    }

    #[test]
    fn matrices_and_other_tensors_have_their_own_rules() {
        let adam = Adam { beta1: 0.5, beta2: 0.75, epsilon: 0.25, weight_decay: 0.0 };
        let others = AdamW { adam, weight_decay: 0.5 };
        let muon = Muon { momentum: 0.5, weight_decay: 0.5, others };
        let step = |number| StepNumber { number, learning_rate: 0.5 };
        let square = MatrixShape::of(&[2, 2]);
        assert_eq!([square, MatrixShape::of(&[4])].map(|shape| muon.state_length(shape)), [4, 8]);
        let (mut weights, mut state) = ([2.0, 2.0, 2.0, 2.0], [0.0; 4]);
        let mut workspace = [0.0; 16];
        let mut update = |number, gradient: [f32; 4]| {
            muon.update(
                step(number),
                square,
                &mut weights,
                &mut gradient.clone(),
                &mut state,
                &mut workspace,
            );
            (weights, state)
        };
        // m = g and g + m/2 is a multiple of g. Both singular values are 1/√2 of the norm.
        let size = (0.2 * 2f64.sqrt() * stretched(0.5f64.sqrt())) as f32;
        let (first, state) = update(1, [3.0, 0.0, 0.0, 3.0]);
        let expected = [2.0 - 0.5 * (size + 1.0), 2.0 - 0.5, 2.0 - 0.5, 2.0 - 0.5 * (size + 1.0)];
        assert!(first.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-5), "{first:?}");
        assert_eq!(state, [3.0, 0.0, 0.0, 3.0]);
        // m = 1.5 − 3.5 and g + m/2 = −4.5, the other way.
        let (second, state) = update(2, [-3.5, 0.0, 0.0, -3.5]);
        assert_eq!(state, [-2.0, 0.0, 0.0, -2.0]);
        let expected = first[0] - 0.5 * (-size + 0.5 * first[0]);
        assert!((second[0] - expected).abs() < 1e-5, "{second:?} {expected}");
        for shape in [&[4][..], &[4, 1], &[1, 4], &[1, 4, 1]] {
            let shape = MatrixShape::of(shape);
            let (mut found, mut expected) = ([2.0; 4], [2.0; 4]);
            let (mut state, mut means, mut squares) = ([0.0; 8], [0.0; 4], [0.0; 4]);
            let gradient = [1.0, -2.0, 3.0, 0.0];
            muon.update(step(1), shape, &mut found, &mut gradient.clone(), &mut state, &mut []);
            others.update(step(1), &mut expected, &gradient, [&mut means, &mut squares]);
            assert_eq!(
                (found, state[..4].to_vec(), state[4..].to_vec()),
                (expected, means.into(), squares.into())
            );
        }
    }
}
