//! Finds weights that an exporter stored twice.

use std::collections::BTreeMap;

use super::Remark;
use crate::Chunks;
use crate::proto::{FLOAT, GraphProto};

/// The maximum number of matrices that a matrix is compared with. It bounds the time of the search.
const PARTNERS_MAX: usize = 16;

/// Returns a remark for each matrix that is the transpose of an earlier one.
///
/// PyTorch's default exporter transposes the weights of linear layers when it writes the file. If another node reads the
/// same weight as it is, such as the embedding of a language model, the file has both.
pub(super) fn copied(proto: &GraphProto, bytes: &[u8], chunks: &[Chunks]) -> Vec<Remark> {
    let mut earlier: BTreeMap<(i64, i64), Vec<Matrix<'_>>> = BTreeMap::new();
    let mut remarks = Vec::new();
    for (tensor, chunks) in proto.initializer.iter().zip(chunks) {
        let (&[rows, columns], [chunk]) = (&tensor.dims[..], &chunks[..]) else { continue };
        let (elements, _) = bytes[chunk.clone()].as_chunks::<4>();
        let volume = usize::try_from(rows).ok().zip(usize::try_from(columns).ok());
        let fits = volume.and_then(|(rows, columns)| rows.checked_mul(columns)) == Some(elements.len());
        let is_uniform = elements.iter().all(|element| element == &elements[0]);
        if tensor.data_type != FLOAT || rows < 2 || columns < 2 || !fits || is_uniform {
            continue;
        }
        let matrix = Matrix { name: &tensor.name, elements, columns: columns as usize };
        let candidates = earlier.get(&(columns, rows)).into_iter().flatten().rev().take(PARTNERS_MAX);
        if let Some(of) = candidates.into_iter().find(|other| other.is_transpose_of(&matrix)) {
            remarks.push(Remark::Copied { tensor: tensor.name.clone(), of: of.name.to_owned() });
        }
        earlier.entry((rows, columns)).or_default().push(matrix);
    }
    remarks
}

/// The name and the elements of a matrix.
struct Matrix<'a> {
    name: &'a str,
    elements: &'a [[u8; 4]],
    columns: usize,
}

impl Matrix<'_> {
    /// Returns whether the elements belong to a matrix with as many columns as this one has rows.
    fn is_transpose_of(&self, other: &Self) -> bool {
        let same = |at: usize| {
            let (row, column) = (at / self.columns, at % self.columns);
            self.elements[at] == other.elements[column * other.columns + row]
        };
        (0..self.elements.len()).all(same)
    }
}
