//! Low-rank factors: `M ~ P Q^T`.

use super::real::Real;

/// A column becomes 0 if less than this share of its norm remains after the other columns are projected out.
const DEPENDENT: f64 = 1e-12;

/// A row-major matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    /// The elements, row by row.
    pub elements: &'a [T],
    /// The length of a row.
    pub columns: usize,
}

impl<T: Real> Matrix<'_, T> {
    /// Returns the product `M Q`, row-major, for a row-major factor `Q` with `rank` columns.
    pub fn times(&self, factor: &[f64], rank: usize) -> Vec<f64> {
        let mut product = vec![0.0; self.elements.len() / self.columns * rank];
        for (row, product) in self.elements.chunks_exact(self.columns).zip(product.chunks_exact_mut(rank)) {
            for (element, factor) in row.iter().zip(factor.chunks_exact(rank)) {
                let element = element.to_f64();
                product.iter_mut().zip(factor).for_each(|(sum, factor)| *sum += element * factor);
            }
        }
        product
    }

    /// Returns the product `M^T P`, row-major, for a row-major factor `P` with `rank` columns.
    pub fn transposed_times(&self, factor: &[f64], rank: usize) -> Vec<f64> {
        let mut product = vec![0.0; self.columns * rank];
        for (row, factor) in self.elements.chunks_exact(self.columns).zip(factor.chunks_exact(rank)) {
            for (element, product) in row.iter().zip(product.chunks_exact_mut(rank)) {
                let element = element.to_f64();
                product.iter_mut().zip(factor).for_each(|(sum, factor)| *sum += element * factor);
            }
        }
        product
    }
}

/// Makes the columns of a factor orthonormal, in order (modified Gram-Schmidt, twice because of rounding). A column
/// that depends on earlier ones becomes 0.
pub(crate) fn orthonormalise(factor: &mut [f64], rank: usize) {
    for column in 0..rank {
        let before = norm(factor, rank, column);
        for _ in 0..2 {
            for other in 0..column {
                let product: f64 = factor.chunks_exact(rank).map(|row| row[column] * row[other]).sum();
                factor.chunks_exact_mut(rank).for_each(|row| row[column] -= product * row[other]);
            }
        }
        let left = norm(factor, rank, column);
        let inverse = if left > DEPENDENT * before && left > 0.0 { 1.0 / left } else { 0.0 };
        factor.chunks_exact_mut(rank).for_each(|row| row[column] *= inverse);
    }
}

fn norm(factor: &[f64], rank: usize, column: usize) -> f64 {
    factor.chunks_exact(rank).map(|row| row[column] * row[column]).sum::<f64>().sqrt()
}

/// One power iteration: `P <- orthonormal(M Q)`, `Q' <- M^T P`; the approximation is `P Q'^T` (Vogels,
/// Karimireddy and Jaggi 2019, "PowerSGD", algorithm 1).
pub(crate) fn iterate<T: Real>(matrix: Matrix<'_, T>, start: &[f64], rank: usize) -> (Vec<f64>, Vec<f64>) {
    let mut left = matrix.times(start, rank);
    orthonormalise(&mut left, rank);
    let right = matrix.transposed_times(&left, rank);
    (left, right)
}

/// Rotates `P Q^T` so that the columns of `Q` are orthogonal, with the largest contributions first. Returns the squared
/// norms of these columns. The product does not change, and orthonormal columns of `P` stay orthonormal.
pub(crate) fn rotate_to_principal(left: &mut [f64], right: &mut [f64], rank: usize) -> Vec<f64> {
    let gram = Matrix { elements: &*right, columns: rank }.transposed_times(right, rank);
    let (strengths, vectors) = eigen(gram, rank);
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by(|a, b| strengths[*b].total_cmp(&strengths[*a]));
    let mut turned = vec![0.0; rank];
    for row in left.chunks_exact_mut(rank).chain(right.chunks_exact_mut(rank)) {
        for (turned, column) in turned.iter_mut().zip(&order) {
            *turned = row.iter().enumerate().map(|(at, value)| value * vectors[at * rank + column]).sum();
        }
        row.copy_from_slice(&turned);
    }
    order.into_iter().map(|column| strengths[column].max(0.0)).collect()
}

/// Returns the eigenvalues of a symmetric matrix, and its eigenvectors as columns (cyclic Jacobi; Golub and Van Loan
/// 2013, section 8.5).
fn eigen(mut matrix: Vec<f64>, side: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors: Vec<f64> =
        (0..side * side).map(|at| if at / side == at % side { 1.0 } else { 0.0 }).collect();
    let squares: f64 = matrix.iter().map(|value| value * value).sum();
    for _ in 0..SWEEPS_MAX {
        let mut off_diagonal = 0.0;
        for p in 0..side {
            for q in p + 1..side {
                let entry = matrix[p * side + q];
                off_diagonal += entry * entry;
                if entry == 0.0 {
                    continue;
                }
                let cotangent = (matrix[q * side + q] - matrix[p * side + p]) / (2.0 * entry);
                let tangent = cotangent.signum() / (cotangent.abs() + (cotangent * cotangent + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let turn = (p, q, cosine, tangent * cosine);
                turn_columns(&mut matrix, side, turn);
                turn_rows(&mut matrix, side, turn);
                turn_columns(&mut vectors, side, turn);
            }
        }
        if off_diagonal <= NEGLIGIBLE * squares {
            break;
        }
    }
    ((0..side).map(|at| matrix[at * side + at]).collect(), vectors)
}

/// The maximum number of sweeps of Jacobi's method. The method converges quadratically, in about ten sweeps.
const SWEEPS_MAX: u32 = 40;
/// The iteration ends when the off-diagonal part is at most this share of the sum of all squares.
const NEGLIGIBLE: f64 = 1e-30;

fn turn_columns(matrix: &mut [f64], side: usize, (p, q, cosine, sine): (usize, usize, f64, f64)) {
    for row in matrix.chunks_exact_mut(side) {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

fn turn_rows(matrix: &mut [f64], side: usize, (p, q, cosine, sine): (usize, usize, f64, f64)) {
    for column in 0..side {
        let (above, below) = (matrix[p * side + column], matrix[q * side + column]);
        matrix[p * side + column] = cosine * above - sine * below;
        matrix[q * side + column] = sine * above + cosine * below;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_columns_become_zero() {
        let mut factor = vec![1.0, 2.0, 0.0, 2.0, 4.0, 1.0, 2.0, 4.0, 0.0];
        orthonormalise(&mut factor, 3);
        let column = |index: usize| -> Vec<f64> { factor.chunks(3).map(|row| row[index]).collect() };
        assert!(column(1).iter().all(|value| *value == 0.0), "{factor:?}");
        let product: f64 = column(0).iter().zip(column(2)).map(|(a, b)| a * b).sum();
        assert!(product.abs() < 1e-15);
    }

    #[test]
    fn principal_columns_are_orthogonal_and_in_order_and_the_product_stays() {
        let (rank, rows, columns) = (3, 7, 5);
        let wave =
            |count: usize, step: f64| -> Vec<f64> { (0..count).map(|at| (at as f64 * step).sin()).collect() };
        let (mut left, mut right) = (wave(rows * rank, 1.3), wave(columns * rank, 0.7));
        orthonormalise(&mut left, rank);
        let product = |left: &[f64], right: &[f64]| -> Vec<f64> {
            let entry = |row: &[f64], other: &[f64]| row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            let rows =
                left.chunks(rank).flat_map(|row| right.chunks(rank).map(move |other| entry(row, other)));
            rows.collect()
        };
        let before = product(&left, &right);
        let strengths = rotate_to_principal(&mut left, &mut right, rank);
        let after = product(&left, &right);
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-14));
        let gram = Matrix { elements: right.as_slice(), columns: rank }.transposed_times(&right, rank);
        for (at, entry) in gram.iter().enumerate() {
            let expected = if at / rank == at % rank { strengths[at / rank] } else { 0.0 };
            assert!((entry - expected).abs() < 1e-13, "{gram:?} {strengths:?}");
        }
        assert!(strengths.is_sorted_by(|a, b| a >= b), "{strengths:?}");
    }
}
