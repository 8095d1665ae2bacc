//! Measures a plain matrix product on one thread. It represents the peak performance of the processor.

use std::hint::black_box;

use gemm::Parallelism;

use super::{
    network::{Network, Product},
    row::Row,
    timing,
};
use crate::Failure;

/// The number of rows and columns of the matrices in the product that represents the peak.
const PEAK: usize = 1024;

/// Measures the peak. Call this at about the same time as the measurement of the model.
pub fn measure_peak(model: Network) -> Result<Row, Failure> {
    let product = Product { shape: [PEAK; 3], is_transposed: false, layer: "peak" };
    measure(model, "gemm", product)
}

/// Measures the product of a layer.
pub fn measure_layer(model: Network, product: Product) -> Result<Row, Failure> {
    let [m, k, n] = product.shape;
    measure(model, &format!("gemm {m}x{k}x{n}"), product)
}

fn measure(model: Network, name: &str, product: Product) -> Result<Row, Failure> {
    let [m, k, n] = product.shape;
    let elements = |count: usize| -> Vec<f32> { (0..count).map(|index| (index % 97) as f32).collect() };
    let (a, b, mut c) = (elements(m * k), elements(k * n), vec![0.0; m * n]);
    let cpu_ms = timing::milliseconds(|| {
        multiply(product, black_box(&a), black_box(&b), black_box(&mut c));
        Ok(())
    })?;
    Ok(Row::new(model, name, cpu_ms, 2 * (m * k * n) as u64))
}

/// Computes `C ← A B`.
#[allow(unsafe_code, reason = "the library's interface is one function over pointers; bounds are asserted")]
fn multiply(product: Product, a: &[f32], b: &[f32], c: &mut [f32]) {
    let [m, k, n] = product.shape;
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (b_column, b_row) = if product.is_transposed { (k, 1) } else { (1, n) };
    let (b_column, b_row, columns, inner) = (b_column as isize, b_row as isize, n as isize, k as isize);
    // SAFETY: the assertion keeps every access inside its slice, and `c` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            columns,
            false,
            a.as_ptr(),
            1,
            inner,
            b.as_ptr(),
            b_column,
            b_row,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
