//! Batches of matrix products.

use folkmoot_graph::op::{broadcast_strides, volume};

use super::super::lowering::Lowering;
use super::super::tensor::Tensor;
use super::product::{Product, STORE_ROW, constants};

const SHADER: &str = include_str!("../../shader/matmul.wgsl");

/// Appends `op(A) op(B)` over the last two axes; the other axes broadcast.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    transpose_a: bool,
    transpose_b: bool,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (a_batch, a) = inputs[0].1.split_at(inputs[0].1.len() - 2);
    let (b_batch, b) = inputs[1].1.split_at(inputs[1].1.len() - 2);
    let (batch, out) = output.1.split_at(output.1.len() - 2);
    let terms = if transpose_a { a[0] } else { a[1] };
    // All of A shares one B: fold the batch into the rows.
    let is_one_matrix = volume(b_batch) == 1 && volume(a_batch) == volume(batch) && !transpose_a;
    let (batches, rows) = if is_one_matrix { (1, volume(batch) * out[0]) } else { (volume(batch), out[0]) };
    let columns = out[1];
    let (a_row, a_column) = if transpose_a { (1, rows) } else { (terms, 1) };
    let (b_row, b_column) = if transpose_b { (1, terms) } else { (columns, 1) };
    let strides = [("A_ROW", a_row), ("A_COLUMN", a_column), ("B_ROW", b_row), ("B_COLUMN", b_column)];
    let matrix = |name: &str, own: &[usize], size: usize| {
        let first = if is_one_matrix { "0u".to_owned() } else { first_element(own, batch, size) };
        format!("fn {name}_matrix(batch: u32) -> u32 {{ return {first}; }}\n")
    };
    let matrices = matrix("a", a_batch, volume(a)) + &matrix("b", b_batch, volume(b));
    Product {
        name: "matrix product",
        batches,
        rows,
        terms,
        columns,
        declarations: constants(&strides) + &matrices,
        elements: SHADER.to_owned(),
        store: STORE_ROW,
        a_along_k: !transpose_a,
        b_along_k: transpose_b,
        reads: [("a", inputs[0].0), ("b", inputs[1].0)],
        output: output.0,
    }
    .lower(lowering);
}

/// Returns WGSL for the first element of the matrix of a `batch`, in a tensor that broadcasts.
fn first_element(own: &[usize], batch: &[usize], size: usize) -> String {
    let strides = broadcast_strides(own, batch);
    let terms = (0..batch.len()).filter(|axis| strides[*axis] > 0).map(|axis| {
        let inner = volume(&batch[axis + 1..]);
        format!("batch / {inner}u % {}u * {}u", batch[axis].max(1), strides[axis] * size)
    });
    terms.fold("0u".to_owned(), |sum, term| format!("{sum} + {term}"))
}
