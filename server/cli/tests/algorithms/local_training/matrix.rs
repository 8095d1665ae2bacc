//! Products of matrices row by row, in double precision.

/// Returns A·B, where A has `inner` columns and B as many rows.
pub fn multiply(a: &[f64], b: &[f64], inner: usize) -> Vec<f64> {
    let columns = b.len() / inner;
    let mut product = Vec::with_capacity(a.len() / inner * columns);
    for row in a.chunks_exact(inner) {
        let element = |column: usize| {
            row.iter().zip(b.iter().skip(column).step_by(columns)).map(|(a, b)| a * b).sum::<f64>()
        };
        product.extend((0..columns).map(element));
    }
    product
}

/// Returns the transpose of a matrix with this many columns.
pub fn transposed(matrix: &[f64], columns: usize) -> Vec<f64> {
    let column = |column: usize| matrix.iter().copied().skip(column).step_by(columns);
    (0..columns).flat_map(column).collect()
}

pub fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}
