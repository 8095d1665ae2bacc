//! From operations to dispatches: what kernels are given, and what they leave behind.

use folkmoot_graph::Graph;
use folkmoot_graph::op::volume;

use super::accessor::{Sink, Source};
use super::tensor::Tensor;
use super::traits::Traits;

/// Invocations of a workgroup for kernels that work element by element.
pub(super) const WORKGROUP: u32 = 256;
/// Workgroups along one axis, at most: the limit of WebGPU.
pub(super) const WORKGROUPS_MAX: u32 = 65_535;

/// One dispatch, before its tensors have places.
///
/// The source sees, for each tensor that is read under a name, `fn load_NAME(i: u32) -> f32`; for each that is written,
/// `fn store_NAME(i: u32, value: f32)` and `fn load_NAME`, where `i` counts elements of the row-major tensor. It
/// also sees everything of `shader/shared/math.wgsl`.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    /// The name in profiles.
    pub(super) name: &'static str,
    /// WGSL: constants, functions and `main`.
    pub(super) source: String,
    /// Workgroups along x, y and z.
    pub(super) workgroups: [u32; 3],
    /// Floating-point operations.
    pub(super) flops: u64,
    /// Whether the source reads the uniform `step`, what is different in each step.
    pub(super) reads_step: bool,
}

impl Kernel {
    /// A kernel that calls the source's `fn element(i: u32)` for each `i` below `count`.
    pub(super) fn each(name: &'static str, source: &str, count: usize) -> Self {
        let groups = count.div_ceil(WORKGROUP as usize).max(1);
        let columns = groups.min(WORKGROUPS_MAX as usize);
        let rows = groups.div_ceil(columns);
        let source = format!(
            "{source}\n@compute @workgroup_size({WORKGROUP})\n\
             fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n    \
             let i = (group.y * {columns}u + group.x) * {WORKGROUP}u + lane;\n    \
             if i < {count}u {{ element(i); }}\n}}\n"
        );
        Self { name, source, workgroups: [columns as u32, rows as u32, 1], flops: 0, reads_step: false }
    }
}

/// A dispatch, and what it reads and writes under the names of its source.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kernel: Kernel,
    pub(super) reads: Vec<(&'static str, Source)>,
    pub(super) writes: Vec<(&'static str, Sink)>,
}

/// The dispatches of a graph, in running order.
pub(super) struct Lowering<'a> {
    graph: &'a Graph,
    traits: &'a Traits,
    /// Elements of each tensor that is no value of the graph; they are numbered behind those.
    others: Vec<usize>,
    pub(super) drafts: Vec<Draft>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(graph: &'a Graph, traits: &'a Traits) -> Self {
        Self { graph, traits, others: Vec::new(), drafts: Vec::new() }
    }

    /// What the adapter can do.
    pub(super) fn traits(&self) -> &Traits {
        self.traits
    }

    /// The number of elements of a tensor.
    pub(super) fn length(&self, tensor: Tensor) -> usize {
        match self.graph.values.get(tensor.0) {
            Some(value) => volume(&value.shape),
            None => self.others[tensor.0 - self.graph.values.len()],
        }
    }

    /// A tensor of so many elements that is no value of the graph: working memory, or what lives in other buffers.
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
