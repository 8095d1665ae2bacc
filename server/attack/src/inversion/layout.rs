use std::ops::Range;

use folkmoot_protocol::TensorSchema;

/// A tensor of an update, and its place among the values.
pub struct Tensor {
    pub shape: Vec<usize>,
    pub range: Range<usize>,
}

/// Returns the tensors of an update, in order.
pub fn tensors(schema: &TensorSchema) -> Vec<Tensor> {
    let mut start = 0;
    let tensors = schema.tensors.iter().map(|tensor| {
        let shape: Vec<usize> =
            tensor.shape.iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
        let range = start..start + shape.iter().product::<usize>();
        start = range.end;
        Tensor { shape, range }
    });
    tensors.collect()
}

/// Returns the index of the largest value; `None` without values.
pub fn largest(values: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (index, value) in values.enumerate() {
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((index, value));
        }
    }
    best.map(|(index, _)| index)
}
