//! Matrix products by the `gemm` crate, which reaches the CPU's peak throughput. candle uses it too.

use std::any::TypeId;

use super::element::Element;

/// Products with fewer multiplications run on one thread: waking other threads would take longer.
#[cfg(feature = "threads")]
const SHARED_PRODUCTS_MIN: usize = 1 << 20;

/// A matrix inside a slice: the distances between rows and between columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix<'a, E> {
    pub(crate) elements: &'a [E],
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl<'a, E> Matrix<'a, E> {
    /// A row-major matrix of `columns` columns, read transposed or not.
    pub(crate) fn row_major(elements: &'a [E], columns: usize, transpose: bool) -> Self {
        let (row_stride, column_stride) = if transpose { (1, columns) } else { (columns, 1) };
        Self { elements, row_stride, column_stride }
    }

    fn reach(&self, rows: usize, columns: usize) -> usize {
        (rows - 1) * self.row_stride + (columns - 1) * self.column_stride + 1
    }
}

/// `C ← A B`, or `C ← C + A B`. A is `[m, k]`, B `[k, n]`, C `[m, n]` and row-major.
///
/// # Panics
/// Panics if a slice is too short for its matrix.
#[allow(
    unsafe_code,
    reason = "the library's interface is one function over pointers; the bounds are asserted here"
)]
pub(crate) fn gemm<E: Element>(
    [m, k, n]: [usize; 3],
    a: Matrix<'_, E>,
    b: Matrix<'_, E>,
    c: &mut [E],
    accumulate: bool,
    threads: usize,
) {
    assert!(m > 0 && k > 0 && n > 0, "no dimension of a product is 0");
    assert!(a.reach(m, k) <= a.elements.len() && b.reach(k, n) <= b.elements.len() && m * n <= c.len());
    // The library is generic but works for its own number types only.
    assert!(TypeId::of::<E>() == TypeId::of::<f32>() || TypeId::of::<E>() == TypeId::of::<f64>());
    #[cfg(feature = "threads")]
    let parallelism = match threads {
        2.. if m * k * n >= SHARED_PRODUCTS_MIN => gemm::Parallelism::Rayon(threads),
        _ => gemm::Parallelism::None,
    };
    #[cfg(not(feature = "threads"))]
    let (parallelism, _) = (gemm::Parallelism::None, threads);
    #[cfg(target_family = "wasm")]
    if TypeId::of::<E>() == TypeId::of::<f64>() {
        return plain([m, k, n], a, b, c, accumulate);
    }
    // SAFETY: the assertions above keep every access inside its slice, and `c` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            accumulate,
            a.elements.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.elements.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            E::ONE,
            E::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// C ← A B for row-major matrices, or C ← A Bᵀ with `transpose`, on one thread. A is `[m, k]`, C `[m, n]`, and B `[k, n]`
/// or, with `transpose`, `[n, k]`. No dimension may be 0.
///
/// # Panics
/// Panics if a slice is too short for its matrix, or a dimension is 0.
pub fn multiply([m, k, n]: [usize; 3], a: &[f32], b: &[f32], transpose: bool, c: &mut [f32]) {
    let left = Matrix::row_major(a, k, false);
    let right = Matrix::row_major(b, if transpose { k } else { n }, transpose);
    gemm([m, k, n], left, right, c, false, 1);
}

/// Computes the same product without the library, one element after another. A browser multiplies matrices of double
/// precision only to fold constants, so including the library's code for them would not be worth its download.
#[cfg(any(target_family = "wasm", test))]
fn plain<E: Element>(
    [m, k, n]: [usize; 3],
    a: Matrix<'_, E>,
    b: Matrix<'_, E>,
    c: &mut [E],
    accumulate: bool,
) {
    let element = |matrix: Matrix<'_, E>, row: usize, column: usize| {
        matrix.elements[row * matrix.row_stride + column * matrix.column_stride]
    };
    for (row, out) in c.chunks_exact_mut(n).take(m).enumerate() {
        for (column, out) in out.iter_mut().enumerate() {
            let start = if accumulate { *out } else { E::ZERO };
            *out = (0..k).fold(start, |sum, index| sum + element(a, row, index) * element(b, index, column));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_product_is_the_librarys() {
        let [m, k, n] = [3, 5, 4];
        let a: Vec<f64> = (0..m * k).map(|x| (x as f64).sin()).collect();
        let b: Vec<f64> = (0..k * n).map(|x| (x as f64).cos()).collect();
        for (transpose, accumulate) in [(false, false), (true, false), (false, true), (true, true)] {
            let rows = Matrix::row_major(&a, if transpose { m } else { k }, transpose);
            let columns = Matrix::row_major(&b, if transpose { k } else { n }, transpose);
            let (mut expected, mut found) = (vec![0.5; m * n], vec![0.5; m * n]);
            gemm([m, k, n], rows, columns, &mut expected, accumulate, 1);
            plain([m, k, n], rows, columns, &mut found, accumulate);
            for (expected, found) in expected.iter().zip(&found) {
                assert!((expected - found).abs() < 1e-12, "{expected} {found}");
            }
        }
    }
}
