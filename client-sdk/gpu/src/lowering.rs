//! Lowers operators to dispatches: the context in which kernels are created.

use folkmoot_graph::Graph;
use folkmoot_graph::op::volume;

use super::accessor::{Sink, Source};
use super::tensor::Tensor;
use super::traits::Traits;

/// The workgroup size of elementwise kernels.
pub(super) const WORKGROUP: u32 = 256;
/// The maximum number of workgroups along one axis, WebGPU's limit.
const WORKGROUPS_MAX: u32 = 65_535;

/// Returns the numbers of workgroups across and down that hold this many, at least one.
pub(super) fn grid(groups: usize) -> [usize; 2] {
    let across = groups.clamp(1, WORKGROUPS_MAX as usize);
    [across, groups.max(1).div_ceil(across)]
}

/// A kernel, before its tensors have places.
///
/// For each tensor that is read under a name, the source can call `fn load_NAME(i: u32) -> f32`. For each tensor that
/// is written, it can call `fn store_NAME(i: u32, value: f32)` and `fn load_NAME`. `i` counts the elements of the
/// row-major tensor. The source can also use everything in `shader/shared/math.wgsl`.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    /// The name in profiles.
    pub(super) name: &'static str,
    /// WGSL: constants, functions and `main`.
    pub(super) source: String,
    /// The numbers of workgroups along x, y and z.
    pub(super) workgroups: [u32; 3],
    /// The number of floating-point operations.
    pub(super) flops: u64,
    /// True if the source reads the uniform `step`, the values that change in each step.
    pub(super) reads_step: bool,
}

impl Kernel {
    /// Creates a kernel that calls the source's `fn element(i: u32)` for each `i` below `count`.
    pub(super) fn each(name: &'static str, source: &str, count: usize) -> Self {
        let [columns, rows] = grid(count.div_ceil(WORKGROUP as usize));
        let source = format!(
            "{source}\n@compute @workgroup_size({WORKGROUP})\n\
             fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n    \
             let i = (group.y * {columns}u + group.x) * {WORKGROUP}u + lane;\n    \
             if i < {count}u {{ element(i); }}\n}}\n"
        );
        Self { name, source, workgroups: [columns as u32, rows as u32, 1], flops: 0, reads_step: false }
    }
}

/// A dispatch, and the tensors that it reads and writes under the names in its source.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kernel: Kernel,
    pub(super) reads: Vec<(&'static str, Source)>,
    pub(super) writes: Vec<(&'static str, Sink)>,
}

/// The dispatches of a graph, in execution order.
pub(super) struct Lowering<'a> {
    graph: &'a Graph,
    traits: &'a Traits,
    /// The number of elements of each tensor that is not a value of the graph. These tensors are numbered after the
    /// values.
    others: Vec<usize>,
    pub(super) drafts: Vec<Draft>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(graph: &'a Graph, traits: &'a Traits) -> Self {
        Self { graph, traits, others: Vec::new(), drafts: Vec::new() }
    }

    /// Returns the traits of the adapter.
    pub(super) fn traits(&self) -> &Traits {
        self.traits
    }

    /// Returns the number of elements of a tensor.
    pub(super) fn length(&self, tensor: Tensor) -> usize {
        match self.graph.values.get(tensor.0) {
            Some(value) => volume(&value.shape),
            None => self.others[tensor.0 - self.graph.values.len()],
        }
    }

    /// Adds a tensor of this many elements that is not a value of the graph: workspace, or data in other buffers.
    pub(super) fn temporary(&mut self, elements: usize) -> Tensor {
        self.others.push(elements);
        Tensor(self.graph.values.len() + self.others.len() - 1)
    }

    /// Appends a dispatch.
    pub(super) fn run(
        &mut self,
        kernel: Kernel,
        reads: &[(&'static str, Tensor)],
        writes: &[(&'static str, Tensor)],
    ) {
        let reads = reads.iter().map(|(name, tensor)| (*name, Source::stored(*tensor))).collect();
        let writes = writes.iter().map(|(name, tensor)| (*name, Sink::stored(*tensor))).collect();
        self.drafts.push(Draft { kernel, reads, writes });
    }
}
