//! Compiles graphs to dispatches: decides what is fused, what is read through a view, and what must be stored.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_graph::op::{Op, Operand, Reduction, volume};
use folkmoot_graph::schedule::{Group, group, needed_nodes};
use folkmoot_graph::{Graph, Node, Source as Origin, ValueId};

use super::accessor::{Chain, Format, Read, Sink, Source};
use super::fusion::{Cluster, Fusion, unshaped};
use super::kernels::{self, Rows};
use super::lowering::{Draft, Kernel, Lowering};
use super::plan::Place;
use super::tensor::Tensor;
use super::traits::Traits;
use super::view::{View, is_view};

/// The maximum number of tensors that a chain reads. Together with the chain's output, this is WebGPU's limit on
/// bindings.
const INPUTS_MAX: usize = 7;
/// The maximum number of elements of an input that a matrix product reads through a view.
const VIEWED_ELEMENTS_MAX: usize = 1 << 16;

/// Collects the dispatches of a program.
pub(super) struct Compiler<'a> {
    pub(super) graph: &'a Graph,
    pub(super) lowering: Lowering<'a>,
    pub(super) traits: &'a Traits,
    /// Tensors with fixed places, in buffers that outlive the program.
    pub(super) homes: BTreeMap<Tensor, Place>,
    /// Tensors stored in 16 bits.
    pub(super) halves: BTreeSet<Tensor>,
    /// Tensors that must be readable at the end.
    pub(super) kept: Vec<Tensor>,
    /// Slices, transposes and broadcasts that had to be stored.
    stored_views: BTreeSet<ValueId>,
    /// Chains that are fused into their only reader.
    prologues: BTreeMap<ValueId, Chain>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(graph: &'a Graph, traits: &'a Traits) -> Self {
        Self {
            graph,
            lowering: Lowering::new(graph, traits),
            traits,
            homes: BTreeMap::new(),
            halves: BTreeSet::new(),
            kept: Vec::new(),
            stored_views: BTreeSet::new(),
            prologues: BTreeMap::new(),
        }
    }

    /// Adds a tensor at a place in a buffer that outlives the program.
    pub(super) fn external(&mut self, place: Place) -> Tensor {
        let tensor = self.lowering.temporary(place.length);
        self.homes.insert(tensor, place);
        tensor
    }

    /// Appends everything that the outputs depend on. The outputs stay readable to the end.
    pub(super) fn add_graph(&mut self, outputs: &[ValueId]) -> Vec<Tensor> {
        let graph = self.graph;
        let needed = needed_nodes(graph, outputs);
        let groups = group(graph, &needed, outputs, INPUTS_MAX);
        let fusion = Fusion::new(graph, &groups, &needed, outputs);
        for (at, cluster) in fusion.steps() {
            match cluster {
                Some(cluster) => self.add(cluster, &groups),
                None => {
                    let group = &groups[at];
                    let chain = self.code(None, &[group], &[]).chain;
                    self.prologues.insert(graph.nodes[group.sink].output, chain);
                }
            }
        }
        outputs.iter().map(|output| self.output(*output)).collect()
    }

    /// Returns the tensor of an output: the value's own tensor, or a copy if no kernel stored one.
    fn output(&mut self, id: ValueId) -> Tensor {
        let read = self.resolve(id);
        let is_computed = read.tensor.0 >= self.graph.values.len()
            || matches!(self.graph.values[read.tensor.0].source, Origin::Node(_));
        let is_new = !self.kept.contains(&read.tensor);
        let tensor = match read.view.is_none() && is_computed && is_new {
            true => read.tensor,
            false => {
                let copy = self.lowering.temporary(volume(self.graph.shape(id)));
                self.copy(read, copy);
                copy
            }
        };
        self.kept.push(tensor);
        tensor
    }

    /// Appends the dispatches of a cluster.
    fn add(&mut self, cluster: &Cluster, groups: &[Group]) {
        let graph = self.graph;
        let mut chains: Vec<&Group> = cluster.chains.iter().map(|chain| &groups[*chain]).collect();
        let mut head = cluster.head.map(|head| &graph.nodes[groups[head].sink]);
        if let Some(width) = cluster.width {
            match chains[..] {
                // A sum without chains uses kernels that divide its rows.
                [sum] => (head, chains) = (Some(&graph.nodes[sum.sink]), Vec::new()),
                _ => return self.rows(cluster, width, &chains),
            }
        }
        let Some(node) = head else {
            let sink = self.code(None, &chains, &cluster.stored);
            return self.compute("elementwise", sink);
        };
        // Views that the reader needs stored come before its own dispatches.
        let reads = self.reads(node);
        let sink = (!chains.is_empty()).then(|| self.code(Some(node.output), &chains, &cluster.stored));
        let begin = self.lowering.drafts.len();
        self.lower(node);
        for draft in &mut self.lowering.drafts[begin..] {
            for (_, source) in &mut draft.reads {
                if let Source::Stored(read) = source
                    && let Some((_, resolved)) = reads.iter().find(|(id, _)| Tensor::from(*id) == read.tensor)
                {
                    *source = resolved.clone();
                }
            }
        }
        if let Some(sink) = sink {
            self.end_with(node.output.into(), sink);
        }
    }

    /// Appends the dispatch of a cluster that computes rows.
    fn rows(&mut self, cluster: &Cluster, width: usize, groups: &[&Group]) {
        let graph = self.graph;
        let mut rows = Rows::new(cluster.elements / width, width);
        let mut results: BTreeMap<ValueId, Operand> = BTreeMap::new();
        for group in groups {
            let sink = &graph.nodes[group.sink];
            let is_of_row = !is_sum(&sink.op) && volume(graph.shape(sink.output)) != cluster.elements;
            for node in group.nodes.iter().map(|node| &graph.nodes[*node]) {
                let shape = graph.shape(if is_sum(&node.op) { node.inputs[0] } else { sink.output });
                let mut operands = Vec::new();
                for id in &node.inputs {
                    operands.push(self.row_operand(*id, shape, is_of_row, &results, &mut rows));
                }
                let result = match node.op {
                    Op::Element(op) => rows.element(op, operands, is_of_row),
                    Op::Reduce { kind, .. } => rows.reduce(kind, operands[0]),
                    Op::SumTo => rows.reduce(Reduction::Sum, operands[0]),
                    // A broadcast needs no operator: the tensor is read with broadcasting.
                    _ => operands[0],
                };
                results.insert(node.output, result);
            }
        }
        cluster.stored.iter().for_each(|id| rows.store(results[id], Tensor::from(*id)));
        self.lowering.drafts.push(rows.draft());
    }

    fn row_operand(
        &mut self,
        id: ValueId,
        shape: &[usize],
        is_of_row: bool,
        results: &BTreeMap<ValueId, Operand>,
        rows: &mut Rows,
    ) -> Operand {
        if let Some(operand) = results.get(&id).or_else(|| results.get(&unshaped(self.graph, id))) {
            return *operand;
        }
        match self.graph.scalar(id) {
            Some(number) => rows.scalar(number),
            None => rows.input(self.resolve_to(id, shape), is_of_row),
        }
    }

    fn lower(&mut self, node: &Node) {
        let graph = self.graph;
        let describe = |id: &ValueId| (Tensor::from(*id), graph.shape(*id));
        let inputs: Vec<(Tensor, &[usize])> = node.inputs.iter().map(describe).collect();
        kernels::lower(&mut self.lowering, &node.op, &inputs, describe(&node.output));
    }

    /// Returns how each input of a node is read.
    fn reads(&mut self, node: &Node) -> Vec<(ValueId, Source)> {
        let takes_chains = is_sum(&node.op);
        let mut reads = Vec::new();
        for id in &node.inputs {
            if !reads_views(&node.op, volume(self.graph.shape(*id))) {
                self.store_view(*id);
            }
            let source = match self.prologues.get(id).filter(|_| takes_chains) {
                Some(chain) => Source::Computed(chain.clone()),
                None => Source::Stored(self.resolve(*id)),
            };
            reads.push((*id, source));
        }
        reads
    }

    /// Replaces the sink of the last dispatch that stores to `from`.
    fn end_with(&mut self, from: Tensor, sink: Sink) {
        let stores = self.lowering.drafts.iter_mut().rev().flat_map(|draft| &mut draft.writes);
        if let Some((_, last)) =
            stores.into_iter().find(|(_, old)| old.stores.iter().any(|(_, to)| *to == from))
        {
            *last = sink;
        }
    }

    /// Combines chains into one sink, after a kernel that computes `head`; `stored` are the values to store.
    fn code(&mut self, head: Option<ValueId>, chains: &[&Group], stored: &[ValueId]) -> Sink {
        let graph = self.graph;
        let mut sink = Sink { chain: Chain::default(), stores: Vec::new() };
        let mut results: BTreeMap<ValueId, Operand> = BTreeMap::new();
        if let Some(head) = head {
            sink.chain.inputs.push(None);
            results.insert(head, Operand::Input(0));
        }
        for group in chains {
            let shape = graph.shape(graph.nodes[group.sink].output);
            for node in group.nodes.iter().map(|node| &graph.nodes[*node]) {
                let read = |id: &ValueId| self.operand(*id, shape, &results, &mut sink.chain);
                let operands: Vec<Operand> = node.inputs.iter().map(read).collect();
                let result = match node.op {
                    Op::Element(op) => sink.chain.push(op, operands),
                    // A broadcast needs no operator: the tensor is read with broadcasting.
                    _ => operands[0],
                };
                results.insert(node.output, result);
            }
        }
        sink.stores = stored.iter().map(|id| (results[id], Tensor::from(*id))).collect();
        sink
    }

    fn operand(
        &mut self,
        id: ValueId,
        shape: &[usize],
        results: &BTreeMap<ValueId, Operand>,
        chain: &mut Chain,
    ) -> Operand {
        let graph = self.graph;
        let is_whole = volume(graph.shape(id)) == volume(shape);
        if let Some(operand) =
            results.get(&id).or_else(|| results.get(&unshaped(graph, id)).filter(|_| is_whole))
        {
            return *operand;
        }
        match graph.scalar(id) {
            Some(number) => chain.scalar(number),
            None => {
                let read = self.resolve_to(id, shape);
                chain.input(read)
            }
        }
    }

    /// Returns how a value is read when broadcast to a shape.
    fn resolve_to(&mut self, id: ValueId, shape: &[usize]) -> Read {
        let (tensor, view) = self.view(id);
        let same = volume(self.graph.shape(id)) == volume(shape);
        let view = if same { view } else { view.repeated(shape) };
        Read { tensor, view: (!view.is_plain()).then_some(view) }
    }

    fn resolve(&mut self, id: ValueId) -> Read {
        let (tensor, view) = self.view(id);
        Read { tensor, view: (!view.is_plain()).then_some(view) }
    }

    /// Returns the tensor that holds a value's elements, and the view on it.
    fn view(&mut self, id: ValueId) -> (Tensor, View) {
        let graph = self.graph;
        let plain = (Tensor::from(id), View::plain(graph.shape(id)));
        let Origin::Node(index) = graph.values[id.0].source else { return plain };
        let node = &graph.nodes[index];
        if !is_view(&node.op) || self.stored_views.contains(&id) {
            return plain;
        }
        let (tensor, view) = self.view(node.inputs[0]);
        let view = match &node.op {
            Op::Reshape if view.is_plain() => plain.1,
            Op::Reshape => {
                self.store_view(node.inputs[0]);
                return (Tensor::from(node.inputs[0]), plain.1);
            }
            Op::Transpose { axes } => view.transposed(axes),
            Op::Slice { starts, steps } => view.sliced(starts, steps, graph.shape(id)),
            _ => view.repeated(graph.shape(id)),
        };
        (tensor, view)
    }

    /// Stores a value that is only a view of another, for readers without view support.
    fn store_view(&mut self, id: ValueId) {
        let read = self.resolve(id);
        if read.view.is_some() {
            self.copy(read, id.into());
            self.stored_views.insert(id);
        }
    }

    /// Appends a kernel that copies.
    pub(super) fn copy(&mut self, from: Read, to: Tensor) {
        let chain = Chain { inputs: vec![Some(from)], ..Chain::default() };
        self.compute("copy", Sink { chain, stores: vec![(Operand::Input(0), to)] });
    }

    /// Appends a kernel that only stores the results of a chain.
    fn compute(&mut self, name: &'static str, sink: Sink) {
        let Some((_, first)) = sink.stores.first() else { return };
        let count = self.lowering.length(*first);
        let kernel = Kernel::each(name, "fn element(i: u32) { store_out(i, 0.0); }", count);
        let kernel = Kernel { flops: (sink.chain.instructions.len() * count) as u64, ..kernel };
        self.lowering.drafts.push(Draft { kernel, reads: Vec::new(), writes: vec![("out", sink)] });
    }

    /// Returns the storage format of a tensor.
    pub(super) fn format(&self, tensor: Tensor) -> Format {
        if self.halves.contains(&tensor) { Format::Half } else { Format::Single }
    }
}

/// Returns whether an operator is a reduction.
fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Reduce { .. } | Op::SumTo)
}

/// Returns whether a kernel reads an input of this many elements through views. A kernel that reads every element many
/// times does so only for small inputs, for which a dispatch that stores the view would cost more.
fn reads_views(op: &Op, elements: usize) -> bool {
    match op {
        Op::Reduce { .. }
        | Op::SumTo
        | Op::ArgMaximum { .. }
        | Op::Concat { .. }
        | Op::Unslice { .. }
        | Op::Gather { .. }
        | Op::ScatterAdd { .. } => true,
        Op::MatMul { .. } => elements <= VIEWED_ELEMENTS_MAX,
        _ => false,
    }
}
