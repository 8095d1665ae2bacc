//! Sums, maxima and minima over axes, in an order that depends only on the shapes.

use std::fmt::Write;

use folkmoot_graph::op::{Reduction, strides, volume};

use super::super::lowering::{Kernel, Lowering, WORKGROUP, grid};
use super::super::tensor::Tensor;

const SHADER: &str = include_str!("../../shader/reduce.wgsl");

/// The number of elements per invocation when a workgroup reduces a long row.
const ELEMENTS_OF_LANE: usize = 4;
/// The number of elements per invocation when a workgroup reduces columns. It is larger, so that each workgroup is
/// worth starting.
const ROWS_OF_LANE: usize = 16;
/// The maximum number of neighbouring outputs that a workgroup reduces together: the number of elements in a cache
/// line.
const NEIGHBOURS: usize = 32;
/// The approximate number of workgroups that keeps a GPU busy.
const WORKGROUPS_WANTED: usize = 512;

/// Reduces the axes that `is_reduced` selects. Long reductions to few numbers use two stages.
pub(crate) fn lower(
    lowering: &mut Lowering<'_>,
    kind: Reduction,
    is_reduced: &[bool],
    inputs: &[(Tensor, &[usize])],
    output: (Tensor, &[usize]),
) {
    let (x, shape) = inputs[0];
    let outputs = volume(output.1);
    if outputs == 0 {
        return;
    }
    let axes = Axes::new(shape, is_reduced);
    let tiles = Tiles::new(&axes, outputs, true);
    if tiles.parts == 1 {
        return lowering.run(kernel(kind, &axes, tiles), &[("x", x)], &[("out", output.0)]);
    }
    let partial = lowering.temporary(outputs * tiles.parts);
    lowering.run(kernel(kind, &axes, tiles), &[("x", x)], &[("out", partial)]);
    let axes = Axes::new(&[outputs, tiles.parts], &[false, true]);
    let tiles = Tiles::new(&axes, outputs, false);
    lowering.run(kernel(kind, &axes, tiles), &[("x", partial)], &[("out", output.0)]);
}

fn kernel(kind: Reduction, axes: &Axes, tiles: Tiles) -> Kernel {
    let (combine, start) = match kind {
        Reduction::Sum => ("a + b", "0.0"),
        Reduction::Maximum => ("maximum(a, b)", "-infinity()"),
        Reduction::Minimum => ("minimum(a, b)", "infinity()"),
    };
    let functions = format!(
        "fn combine(a: f32, b: f32) -> f32 {{ return {combine}; }}\nfn start() -> f32 {{ return {start}; }}\n"
    );
    let source = [&tiles.constants(), &axes.functions(), &functions, SHADER].concat();
    Kernel { name: "reduce", source, workgroups: tiles.workgroups(), flops: 0, reads_step: false }
}

/// The axes of a tensor, each kept or reduced; neighbouring axes of the same kind are merged.
pub(super) struct Axes {
    sizes: Vec<usize>,
    is_reduced: Vec<bool>,
}

impl Axes {
    pub(super) fn new(shape: &[usize], is_reduced: &[bool]) -> Self {
        let mut axes = Self { sizes: Vec::new(), is_reduced: Vec::new() };
        for (size, reduced) in shape.iter().copied().zip(is_reduced.iter().copied()) {
            match axes.sizes.last_mut() {
                _ if size == 1 => {}
                Some(outer) if axes.is_reduced.last() == Some(&reduced) => *outer *= size,
                _ => {
                    axes.sizes.push(size);
                    axes.is_reduced.push(reduced);
                }
            }
        }
        axes
    }

    /// Returns the number of elements reduced to one.
    fn length(&self) -> usize {
        let reduced = self.sizes.iter().zip(&self.is_reduced).filter(|(_, reduced)| **reduced);
        reduced.map(|(size, _)| size).product()
    }

    /// Returns how many neighbouring elements belong to different outputs.
    fn neighbours(&self) -> usize {
        match (self.sizes.last(), self.is_reduced.last()) {
            (Some(size), Some(false)) => *size,
            _ => 1,
        }
    }

    /// Returns WGSL for `base(output)` and `offset(position)`; their sum is the index of an element.
    pub(super) fn functions(&self) -> String {
        self.function("base", false) + &self.function("offset", true)
    }

    fn function(&self, name: &str, reduced: bool) -> String {
        let own = strides(&self.sizes);
        let wanted: Vec<usize> =
            (0..self.sizes.len()).filter(|axis| self.is_reduced[*axis] == reduced).collect();
        let mut body = format!("fn {name}(index: u32) -> u32 {{\n    var rest = index;\n    var at = 0u;\n");
        for (place, axis) in wanted.iter().rev().enumerate() {
            // The outermost axis needs no remainder.
            let line = match place + 1 == wanted.len() {
                true => format!("    at += rest * {}u;", own[*axis]),
                false => {
                    let size = self.sizes[*axis].max(1);
                    format!("    at += (rest % {size}u) * {}u;\n    rest /= {size}u;", own[*axis])
                }
            };
            writeln!(body, "{line}").expect("a string takes any text");
        }
        body + "    return at;\n}\n"
    }
}

/// The division of outputs and elements among invocations and workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiles {
    outputs: usize,
    length: usize,
    /// The number of invocations per output, a power of two.
    lanes: usize,
    /// True if neighbouring invocations work on neighbouring outputs, not on neighbouring elements of one output.
    is_across: bool,
    /// The number of workgroups that share an output.
    pub(super) parts: usize,
}

impl Tiles {
    pub(super) fn new(axes: &Axes, outputs: usize, may_split: bool) -> Self {
        let (length, workgroup) = (axes.length(), WORKGROUP as usize);
        let is_across = axes.neighbours() >= NEIGHBOURS / 4;
        let lanes = match is_across {
            true if length < ROWS_OF_LANE || outputs >= WORKGROUPS_WANTED * workgroup => 1,
            true => workgroup / axes.neighbours().next_power_of_two().min(NEIGHBOURS),
            false => length.div_ceil(ELEMENTS_OF_LANE).next_power_of_two().min(workgroup),
        };
        let groups = outputs.div_ceil(workgroup / lanes);
        let fewest_elements = lanes * ROWS_OF_LANE;
        let parts = (WORKGROUPS_WANTED / groups).min(length / fewest_elements).max(1);
        Self { outputs, length, lanes, is_across, parts: if may_split { parts } else { 1 } }
    }

    pub(super) fn constants(&self) -> String {
        let breadth = WORKGROUP as usize / self.lanes;
        let (lane_stride, output_stride) = if self.is_across { (breadth, 1) } else { (1, self.lanes) };
        // In the first round, this many invocations per output add up equal shares. In the second round, one invocation
        // adds up their sums.
        let heads = 1usize << self.lanes.ilog2().div_ceil(2);
        let numbers = [
            ("OUTPUTS", self.outputs),
            ("LENGTH", self.length),
            ("LANES", self.lanes),
            ("HEADS", heads),
            ("LANE_STRIDE", lane_stride),
            ("OUTPUT_STRIDE", output_stride),
            ("BREADTH", breadth),
            ("PARTS", self.parts),
            ("PART", self.length.div_ceil(self.parts)),
            ("COLUMNS", grid(self.groups())[0]),
        ];
        numbers.map(|(name, number)| format!("const {name}: u32 = {number}u;\n")).concat()
    }

    pub(super) fn workgroups(&self) -> [u32; 3] {
        let [across, down] = grid(self.groups());
        [across as u32, down as u32, self.parts as u32]
    }

    fn groups(&self) -> usize {
        self.outputs.div_ceil(WORKGROUP as usize / self.lanes)
    }
}
