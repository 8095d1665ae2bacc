//! Compiles a graph to launches. Decides which kernels run in which order, and where each value is stored.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cpu::{Chain, Element, INPUTS_MAX, Kernel};
use crate::graph::{Graph, Source, ValueId};
use crate::op::{Op, volume};
use crate::schedule::{Group, Lifetime, chain, group, most_alive, needed_nodes, place};

/// The storage of a value during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Arena(Range<usize>),
    Output(usize),
    Parameter(usize),
    /// An input: its index, and the number of its elements that are read.
    Input(usize, usize),
    Constant(usize),
    /// The target buffer, which holds this operand until the launch overwrites it.
    Target,
}

/// A kernel, its operands and its target.
#[derive(Debug)]
pub(super) struct Launch<E> {
    pub(super) kernel: Kernel<E>,
    pub(super) name: &'static str,
    pub(super) reads: Vec<Place>,
    pub(super) target: Place,
    /// The number of elements of the target.
    pub(super) length: usize,
}

/// A compiled graph whose memory is not allocated yet.
pub(super) struct Plan<E> {
    pub(super) launches: Vec<Launch<E>>,
    /// The number of elements in the arena.
    pub(super) arena: usize,
    /// The maximum number of elements that are needed at the same time.
    pub(super) live: usize,
    pub(super) scratch: usize,
    /// The number of elements of each output.
    pub(super) outputs: Vec<usize>,
    /// The graph's constants that the launches read, in storage order.
    pub(super) constants: Vec<usize>,
}

/// A launch before its values have storage. Values are identified by their roots: the root of a reshaped value is the
/// value that it was reshaped from.
struct Draft<E> {
    kernel: Kernel<E>,
    name: &'static str,
    reads: Vec<ValueId>,
    target: ValueId,
    /// The operand whose memory the target reuses.
    in_place: Option<usize>,
}

impl<E: Element> Plan<E> {
    pub(super) fn new(graph: &Graph, outputs: &[ValueId], threads: usize) -> Self {
        let needed = needed_nodes(graph, outputs);
        let mut compiler = Compiler::new(graph, outputs);
        for group in group(graph, &needed, outputs, INPUTS_MAX) {
            compiler.add(&group);
        }
        compiler.copy_outputs();
        compiler.finish(outputs, threads)
    }
}

struct Compiler<'a, E> {
    graph: &'a Graph,
    drafts: Vec<Draft<E>>,
    /// The value whose elements each value shares.
    roots: Vec<ValueId>,
    /// The output into which each root is computed.
    output_of: BTreeMap<ValueId, usize>,
    /// Outputs that are copies of other values: (output, root).
    copies: Vec<(usize, ValueId)>,
}

impl<'a, E: Element> Compiler<'a, E> {
    fn new(graph: &'a Graph, outputs: &[ValueId]) -> Self {
        let mut roots: Vec<ValueId> = (0..graph.values.len()).map(ValueId).collect();
        for node in graph.nodes.iter().filter(|node| node.op == Op::Reshape) {
            roots[node.output.0] = roots[node.inputs[0].0];
        }
        let (mut output_of, mut copies) = (BTreeMap::new(), Vec::new());
        for (index, id) in outputs.iter().enumerate() {
            let root = roots[id.0];
            let is_computed = matches!(graph.values[root.0].source, Source::Node(_));
            if is_computed && !output_of.contains_key(&root) {
                output_of.insert(root, index);
            } else {
                copies.push((index, root));
            }
        }
        Self { graph, drafts: Vec::new(), roots, output_of, copies }
    }

    fn add(&mut self, group: &Group) {
        let graph = self.graph;
        let node = &graph.nodes[group.sink];
        let shape = graph.shape(node.output);
        match &node.op {
            Op::Reshape => {}
            Op::Element(_) => {
                let code = chain(graph, group);
                let shapes: Vec<&[usize]> = code.inputs.iter().map(|id| graph.shape(*id)).collect();
                let kernel = Kernel::Chain(Chain::new(&shapes, shape, code.instructions, &code.scalars));
                self.draft(kernel, "elementwise", code.inputs, node.output);
            }
            Op::Concat { axis } => {
                let shapes: Vec<&[usize]> = node.inputs.iter().map(|id| graph.shape(*id)).collect();
                for (part, input) in node.inputs.iter().enumerate() {
                    let kernel = Kernel::join(*axis, &shapes, part, shape);
                    self.draft(kernel, node.op.name(), vec![*input], node.output);
                }
            }
            op => {
                let shapes: Vec<&[usize]> = node.inputs.iter().map(|id| graph.shape(*id)).collect();
                let kernel = Kernel::new(op, &shapes, shape);
                self.draft(kernel, op.name(), node.inputs.clone(), node.output);
            }
        }
    }

    fn draft(&mut self, kernel: Kernel<E>, name: &'static str, reads: Vec<ValueId>, target: ValueId) {
        let reads = reads.into_iter().map(|id| self.roots[id.0]).collect();
        let target = self.roots[target.0];
        self.drafts.push(Draft { kernel, name, reads, target, in_place: None });
    }

    /// Copies outputs that are sources, or that are already computed for another output, at the end.
    fn copy_outputs(&mut self) {
        for (index, root) in std::mem::take(&mut self.copies) {
            let length = volume(self.graph.shape(root));
            let kernel = Kernel::new(&Op::Reshape, &[&[length]], &[length]);
            // A copy is a new value, numbered after those of the graph.
            let target = ValueId(self.graph.values.len() + self.drafts.len());
            self.output_of.insert(target, index);
            self.drafts.push(Draft { kernel, name: "copy", reads: vec![root], target, in_place: None });
        }
    }

    fn finish(mut self, outputs: &[ValueId], threads: usize) -> Plan<E> {
        let (lives, buffers) = self.lifetimes();
        let (offsets, arena) = place(&lives);
        let live = most_alive(&lives);
        let mut constants: Vec<usize> = Vec::new();
        let mut launches = Vec::with_capacity(self.drafts.len());
        let sizes: Vec<usize> = outputs.iter().map(|id| volume(self.graph.shape(*id))).collect();
        for draft in std::mem::take(&mut self.drafts) {
            let mut find = |id: ValueId| self.find(id, &buffers, &offsets, &lives, &mut constants);
            let target = find(draft.target);
            let mut reads: Vec<Place> = draft.reads.iter().map(|id| find(*id)).collect();
            if let Some(read) = draft.in_place {
                reads[read] = Place::Target;
            }
            let length = match &target {
                Place::Arena(range) => range.len(),
                Place::Output(index) => sizes[*index],
                _ => unreachable!("a launch writes to the arena or an output"),
            };
            launches.push(Launch { kernel: draft.kernel, name: draft.name, reads, target, length });
        }
        let scratch = launches.iter().map(|launch| launch.kernel.scratch(threads)).max().unwrap_or(0);
        Plan { launches, arena, live, scratch, outputs: sizes, constants }
    }

    fn find(
        &self,
        id: ValueId,
        buffers: &BTreeMap<ValueId, usize>,
        offsets: &[usize],
        lives: &[Lifetime],
        constants: &mut Vec<usize>,
    ) -> Place {
        if let Some(output) = self.output_of.get(&id) {
            return Place::Output(*output);
        }
        if let Some(buffer) = buffers.get(&id) {
            let start = offsets[*buffer];
            return Place::Arena(start..start + lives[*buffer].size);
        }
        let value = &self.graph.values[id.0];
        match value.source {
            Source::Input(index) => Place::Input(index, volume(&value.shape)),
            Source::Parameter(index) => Place::Parameter(index),
            Source::Constant(index) => {
                let known = constants.iter().position(|constant| *constant == index);
                Place::Constant(known.unwrap_or_else(|| {
                    constants.push(index);
                    constants.len() - 1
                }))
            }
            Source::Node(_) => unreachable!("every needed node has been given a place"),
        }
    }

    /// Returns the buffers of the arena, and the buffer of each value. A chain reuses the buffer of an input that it is
    /// the last to read.
    fn lifetimes(&mut self) -> (Vec<Lifetime>, BTreeMap<ValueId, usize>) {
        let mut last_read: BTreeMap<ValueId, usize> = BTreeMap::new();
        for (launch, draft) in self.drafts.iter().enumerate() {
            draft.reads.iter().for_each(|id| {
                last_read.insert(*id, launch);
            });
        }
        let mut lives: Vec<Lifetime> = Vec::new();
        let mut buffers: BTreeMap<ValueId, usize> = BTreeMap::new();
        for (launch, draft) in self.drafts.iter_mut().enumerate() {
            if self.output_of.contains_key(&draft.target) {
                continue;
            }
            let last = last_read.get(&draft.target).copied().unwrap_or(launch);
            if let Some(buffer) = buffers.get(&draft.target) {
                // This launch writes a later part of a concatenation, whose buffer already exists.
                lives[*buffer].last = lives[*buffer].last.max(launch);
                continue;
            }
            let size = volume(self.graph.shape(draft.target));
            let reusable = reusable_read(draft, launch, size, &last_read, &buffers, &lives);
            let buffer = match reusable {
                Some((read, buffer)) => {
                    draft.in_place = Some(read);
                    lives[buffer].last = last;
                    buffer
                }
                None => {
                    lives.push(Lifetime { size, first: launch, last });
                    lives.len() - 1
                }
            };
            buffers.insert(draft.target, buffer);
        }
        (lives, buffers)
    }
}

/// Returns the operand of a chain whose buffer is as large as the target and is not needed afterwards.
fn reusable_read<E: Element>(
    draft: &Draft<E>,
    launch: usize,
    size: usize,
    last_read: &BTreeMap<ValueId, usize>,
    buffers: &BTreeMap<ValueId, usize>,
    lives: &[Lifetime],
) -> Option<(usize, usize)> {
    let Kernel::Chain(chain) = &draft.kernel else { return None };
    draft.reads.iter().enumerate().find_map(|(read, id)| {
        let buffer = *buffers.get(id)?;
        let is_only = draft.reads.iter().filter(|other| buffers.get(other) == Some(&buffer)).count() == 1;
        let dies = last_read.get(id) == Some(&launch) && lives[buffer].last == launch;
        (is_only && dies && chain.is_direct(read) && lives[buffer].size == size).then_some((read, buffer))
    })
}
