//! Batches of matrix products.

use crate::cpu::element::Element;
use crate::cpu::gemm::{Matrix, gemm};
use crate::op::{broadcast_strides, volume};

/// `op(A) op(B)` over the last two axes of tensors of known shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatMul {
    dims: [usize; 3],
    transpose_a: bool,
    transpose_b: bool,
    /// The offsets of A and B for each product.
    offsets: Vec<(usize, usize)>,
}

impl MatMul {
    pub(crate) fn new(a: &[usize], b: &[usize], out: &[usize], transpose_a: bool, transpose_b: bool) -> Self {
        let (a_batch, a_matrix) = a.split_at(a.len() - 2);
        let (b_batch, b_matrix) = b.split_at(b.len() - 2);
        let (out_batch, out_matrix) = out.split_at(out.len() - 2);
        let k = if transpose_a { a_matrix[0] } else { a_matrix[1] };
        let (m, n) = (out_matrix[0], out_matrix[1]);
        if volume(b_batch) == 1 && !transpose_a {
            // All of A shares one B: fold the batch into the rows.
            let dims = [volume(out_batch) * m, k, n];
            return Self { dims, transpose_a, transpose_b, offsets: vec![(0, 0)] };
        }
        let a_strides = broadcast_strides(a_batch, out_batch);
        let b_strides = broadcast_strides(b_batch, out_batch);
        let offset = |product: usize, strides: &[usize], size: usize| {
            let mut rest = product;
            let mut at = 0;
            for (axis, length) in out_batch.iter().enumerate().rev() {
                at += rest % length * strides[axis];
                rest /= length;
            }
            at * size
        };
        let offsets = (0..volume(out_batch))
            .map(|product| {
                (offset(product, &a_strides, volume(a_matrix)), offset(product, &b_strides, volume(b_matrix)))
            })
            .collect();
        Self { dims: [m, k, n], transpose_a, transpose_b, offsets }
    }

    pub(crate) fn run<E: Element>(&self, a: &[E], b: &[E], out: &mut [E], threads: usize) {
        let [m, k, n] = self.dims;
        for ((a_at, b_at), out) in self.offsets.iter().zip(out.chunks_exact_mut(m * n)) {
            let a = Matrix::row_major(&a[*a_at..], if self.transpose_a { m } else { k }, self.transpose_a);
            let b = Matrix::row_major(&b[*b_at..], if self.transpose_b { k } else { n }, self.transpose_b);
            gemm(self.dims, a, b, out, false, threads);
        }
    }

    /// Returns the number of floating-point operations in one run.
    pub(crate) fn flops(&self) -> u64 {
        2 * self.dims.iter().product::<usize>() as u64 * self.offsets.len() as u64
    }
}
