use super::{MatrixShape, StepNumber, TensorOptimizer};

/// Added to squares: the paper's ε₁.
const SQUARE_MIN: f64 = 1e-30;
/// The number of columns that are summed together, so that each row is read in pieces and not element by element.
const COLUMNS: usize = 16;

/// Adafactor (Shazeer and Stern 2018, algorithm 4 for matrices and 5 for other tensors).
#[derive(Debug, Clone, Copy)]
pub(super) struct Adafactor {
    pub(super) decay_exponent: f32,
    pub(super) update_max: f32,
    pub(super) scale_min: f32,
    pub(super) weight_decay: f32,
}

impl TensorOptimizer for Adafactor {
    fn state_length(&self, shape: MatrixShape) -> usize {
        if shape.is_matrix() { shape.rows + shape.columns } else { shape.elements() }
    }

    fn workspace_length(&self, _: MatrixShape) -> usize {
        0
    }

    fn update(
        &self,
        step: StepNumber,
        shape: MatrixShape,
        weights: &mut [f32],
        gradient: &mut [f32],
        state: &mut [f32],
        _: &mut [f32],
    ) {
        let number = step.number as f64;
        // The share of the new squares is 1 in the first step.
        let share = number.powf(-f64::from(self.decay_exponent));
        if shape.is_matrix() {
            divide_by_factors(shape, share, gradient, state);
        } else {
            for (gradient, square) in gradient.iter_mut().zip(state) {
                mix(square, squared(*gradient), share);
                *gradient /= square.sqrt();
            }
        }
        let scale = root_mean_square(weights).max(self.scale_min.into());
        let rate = f64::from(step.learning_rate).min(1.0 / number.sqrt());
        let excess = (root_mean_square(gradient) / f64::from(self.update_max)).max(1.0);
        let (factor, decay) = ((scale * rate / excess) as f32, step.learning_rate * self.weight_decay);
        for (weight, update) in weights.iter_mut().zip(gradient) {
            *weight -= factor * *update + decay * *weight;
        }
    }
}

/// Divides a gradient by the roots of R·C / mean(R), for the running means R of its squares in each row and C in each column.
fn divide_by_factors(shape: MatrixShape, share: f64, gradient: &mut [f32], state: &mut [f32]) {
    let MatrixShape { rows, columns } = shape;
    let (row_means, column_means) = state.split_at_mut(rows);
    for (row, mean) in gradient.chunks_exact(columns).zip(&mut *row_means) {
        mix(mean, row.iter().map(|element| squared(*element)).sum::<f64>() / columns as f64, share);
    }
    for (block, means) in column_means.chunks_mut(COLUMNS).enumerate() {
        let mut sums = [0.0; COLUMNS];
        for row in gradient.chunks_exact(columns) {
            let elements = &row[block * COLUMNS..][..means.len()];
            sums.iter_mut().zip(elements).for_each(|(sum, element)| *sum += squared(*element));
        }
        means.iter_mut().zip(sums).for_each(|(mean, sum)| mix(mean, sum / rows as f64, share));
    }
    let whole = row_means.iter().map(|mean| f64::from(*mean)).sum::<f64>() / rows as f64;
    for (row, row_mean) in gradient.chunks_exact_mut(columns).zip(row_means) {
        let row_factor = f64::from(*row_mean) / whole;
        for (element, column_mean) in row.iter_mut().zip(&*column_means) {
            *element = (f64::from(*element) / (row_factor * f64::from(*column_mean)).sqrt()) as f32;
        }
    }
}

fn squared(element: f32) -> f64 {
    f64::from(element) * f64::from(element) + SQUARE_MIN
}

fn mix(mean: &mut f32, new: f64, share: f64) {
    *mean = ((1.0 - share) * f64::from(*mean) + share * new) as f32;
}

fn root_mean_square(values: &[f32]) -> f64 {
    let squares: f64 = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIMIZER: Adafactor =
        Adafactor { decay_exponent: 1.0, update_max: 1.0, scale_min: 0.5, weight_decay: 0.0 };

    fn close(found: &[f32], expected: &[f64]) -> bool {
        found.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-5)
    }

    fn step(number: u64) -> StepNumber {
        StepNumber { number, learning_rate: 0.25 }
    }

    #[test]
    fn two_steps_of_a_matrix_by_hand() {
        let shape = MatrixShape::of(&[2, 2]);
        let (mut weights, mut state) = ([3.0, 4.0, 0.0, 5.0], vec![0.0; OPTIMIZER.state_length(shape)]);
        // The squares 1, 4, 4, 16 are a product of rows and columns, so the first update is a sign everywhere.
        OPTIMIZER.update(step(1), shape, &mut weights, &mut [1.0, -2.0, 2.0, -4.0], &mut state, &mut []);
        assert!(close(&state, &[2.5, 10.0, 2.5, 10.0]), "{state:?}");
        let rate = 0.25 * (50f64 / 4.0).sqrt();
        let first = [3.0 - rate, 4.0 + rate, -rate, 5.0 + rate];
        assert!(close(&weights, &first), "{weights:?} {first:?}");
        // The decay of step 2 is a half: R = (1.25, 5) and C = (1.25, 5) plus halves of the new means (½, 4) and (½, 4).
        OPTIMIZER.update(
            step(2),
            shape,
            &mut weights,
            &mut [1.0, 0.0, 0.0, 2.0 * 2f64.sqrt() as f32],
            &mut state,
            &mut [],
        );
        assert!(close(&state, &[1.5, 7.0, 1.5, 7.0]), "{state:?}");
        let whole = 4.25;
        let update = [1.0 / (2.25f64 / whole).sqrt(), 0.0, 0.0, 8f64.sqrt() / (49f64 / whole).sqrt()];
        let size = (update.iter().map(|one| one * one).sum::<f64>() / 4.0).sqrt();
        let scale = (first.iter().map(|one| one * one).sum::<f64>() / 4.0).sqrt();
        let expected: Vec<f64> = first
            .iter()
            .zip(update)
            .map(|(weight, one)| weight - scale * 0.25 * one / size.max(1.0))
            .collect();
        assert!(close(&weights, &expected), "{weights:?} {expected:?}");
    }

    #[test]
    fn vectors_zeros_and_faults_by_hand() {
        let vector = MatrixShape::of(&[2]);
        let optimizer = Adafactor { weight_decay: 0.5, ..OPTIMIZER };
        // Weights of 0 move by the least scale, and a gradient of 0 does not.
        let (mut weights, mut state) = ([0.0, 0.0], [0.0; 2]);
        optimizer.update(step(1), vector, &mut weights, &mut [8.0, 0.0], &mut state, &mut []);
        assert!(close(&weights, &[-0.5 * 0.25, 0.0]), "{weights:?}");
        // The rate of step 100 is at most a tenth. The running mean moves by a hundredth; the root mean square of u = 10 is cut.
        let (mut weights, mut state) = ([4.0], [0.0]);
        let single = MatrixShape::of(&[]);
        optimizer.update(step(100), single, &mut weights, &mut [3.0], &mut state, &mut []);
        assert!(close(&state, &[0.09]) && close(&weights, &[4.0 - 4.0 * 0.1 - 0.125 * 4.0]), "{weights:?}");
        let mut weights = [1.0; 4];
        let square = MatrixShape::of(&[2, 2]);
        OPTIMIZER.update(
            step(1),
            square,
            &mut weights,
            &mut [f32::NAN, 0.0, 0.0, 0.0],
            &mut [0.0; 4],
            &mut [],
        );
        assert!(weights.iter().all(|weight| weight.is_nan()));
    }
}
