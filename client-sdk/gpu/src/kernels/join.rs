//! Concatenates tensors along an axis.

use std::fmt::Write;

use super::super::lowering::{Kernel, Lowering};
use super::super::tensor::Tensor;

const SHADER: &str = include_str!("../../shader/shared/join.wgsl");

/// The names of the inputs of one dispatch. Together with the output, they reach the number of tensors that a kernel
/// may bind.
const NAMES: [&str; 7] = ["x0", "x1", "x2", "x3", "x4", "x5", "x6"];

/// Concatenates along `axis`. Each dispatch writes the parts of up to seven inputs; together they write every element
/// once.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    axis: usize,
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let inner: usize = output.1[axis + 1..].iter().product();
    let outer: usize = output.1[..axis].iter().product();
    let row = output.1[axis] * inner;
    let mut start = 0;
    for inputs in inputs.chunks(NAMES.len()) {
        let lengths: Vec<usize> = inputs.iter().map(|(_, shape)| shape[axis] * inner).collect();
        let part: usize = lengths.iter().sum();
        let constants = format!(
            "const PART: u32 = {}u;\nconst ROW: u32 = {row}u;\nconst START: u32 = {start}u;\n",
            part.max(1)
        );
        let source = [&constants, &find(&lengths), SHADER].concat();
        let reads: Vec<(&str, Tensor)> = NAMES.into_iter().zip(inputs.iter().map(|(x, _)| *x)).collect();
        lowering.run(Kernel::each("concatenate", &source, outer * part), &reads, &[("out", output.0)]);
        start += part;
    }
}

/// Returns WGSL: `find(row, place)` is the element at this place in a row of the part.
fn find(lengths: &[usize]) -> String {
    let mut body = "fn find(row: u32, place: u32) -> f32 {\n".to_owned();
    let mut start = 0;
    for (name, length) in NAMES.iter().zip(lengths) {
        let end = start + length;
        let load = format!("return load_{name}(row * {length}u + place - {start}u);");
        writeln!(body, "    if place < {end}u {{ {load} }}").expect("a string takes any text");
        start = end;
    }
    body + "    return 0.0;\n}\n"
}
