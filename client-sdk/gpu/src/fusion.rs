//! Decides which operators share a dispatch: a kernel with the elementwise operators after it, or a sum with the chain
//! before it.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_graph::op::{Op, volume};
use folkmoot_graph::schedule::{Group, readers};
use folkmoot_graph::{Graph, Source, ValueId};

use super::traits::BINDINGS_MAX;
use super::view::is_view;

/// The maximum number of operators in a dispatch.
const OPERATIONS_MAX: usize = 96;
/// The maximum length of a row that one invocation processes alone, in elements.
const ROW_MAX: usize = 128;
/// The maximum distance, in groups, between a dispatch and a group that joins the dispatch. It limits the search.
const WAIT_MAX: usize = 64;

/// The groups that run in one dispatch, or in the last dispatch of a head with several.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    /// The kernel before the chains. Without one, the cluster is a chain or computes rows.
    pub(super) head: Option<usize>,
    /// The indexes of the groups of elementwise operators, in execution order. A cluster that computes rows also has
    /// the indexes of its reductions.
    pub(super) chains: Vec<usize>,
    /// The number of elements in a row, if the cluster reduces rows to numbers; `None` for other clusters.
    pub(super) width: Option<usize>,
    /// The number of computed elements.
    pub(super) elements: usize,
    /// The values to store, because something outside the cluster reads them.
    pub(super) stored: Vec<ValueId>,
}

/// The dispatches of a graph, by the indexes of their groups.
pub(super) struct Fusion<'a> {
    graph: &'a Graph,
    groups: &'a [Group],
    outputs: &'a [ValueId],
    readers: Vec<Vec<usize>>,
    /// The group of each node.
    group_of: BTreeMap<usize, usize>,
    /// The values that each group reads, with all views removed.
    reads: Vec<BTreeSet<ValueId>>,
    /// Clusters by the index of the group at which they run.
    clusters: BTreeMap<usize, Cluster>,
    /// The cluster that computes each value.
    cluster_of: BTreeMap<ValueId, usize>,
    /// Chains that are fused into the only sum that reads them.
    prologues: BTreeSet<usize>,
}

impl<'a> Fusion<'a> {
    /// Fuses groups, given in execution order. Only reads by `needed` nodes count.
    pub(super) fn new(
        graph: &'a Graph,
        groups: &'a [Group],
        needed: &[bool],
        outputs: &'a [ValueId],
    ) -> Self {
        let node_groups = groups.iter().enumerate();
        let group_of = node_groups.flat_map(|(at, group)| group.nodes.iter().map(move |node| (*node, at)));
        let mut fusion = Self {
            graph,
            groups,
            outputs,
            readers: readers(graph, needed),
            group_of: group_of.collect(),
            reads: groups.iter().map(|group| reads(graph, group)).collect(),
            clusters: BTreeMap::new(),
            cluster_of: BTreeMap::new(),
            prologues: BTreeSet::new(),
        };
        for at in 0..groups.len() {
            fusion.place(at);
        }
        fusion
    }

    /// Returns the clusters in execution order, by the index at which they run. A chain that is fused into a sum has
    /// the entry `None`.
    pub(super) fn steps(&self) -> BTreeMap<usize, Option<&Cluster>> {
        let prologues = self.prologues.iter().map(|at| (*at, None));
        self.clusters.iter().map(|(at, cluster)| (*at, Some(cluster))).chain(prologues).collect()
    }

    fn place(&mut self, at: usize) {
        let sink = &self.graph.nodes[self.groups[at].sink];
        if is_view(&sink.op) {
            return;
        }
        let (is_chain, width) = (matches!(sink.op, Op::Element(_)), self.width_of(at));
        if is_chain && self.is_prologue(sink.output) {
            self.prologues.insert(at);
            return;
        }
        let may_join = is_chain || width.is_some();
        let joined = if may_join { self.host(at) } else { None };
        let mut cluster = match joined {
            Some(host) => self.clusters.remove(&host).expect("a host is a cluster"),
            None => Cluster {
                head: (!may_join).then_some(at),
                chains: Vec::new(),
                width: None,
                elements: volume(self.shape_of(at)) * width.unwrap_or(1),
                stored: Vec::new(),
            },
        };
        cluster.width = cluster.width.or(width);
        if may_join {
            cluster.chains.push(at);
        }
        cluster.stored = self.stored(&cluster);
        for value in self.values(&cluster) {
            self.cluster_of.insert(value, at);
        }
        self.clusters.insert(at, cluster);
    }

    /// Returns the latest cluster that this group can join and that can run as late as the group.
    fn host(&self, at: usize) -> Option<usize> {
        let read = self.reads[at].iter().filter_map(|value| self.cluster_of.get(value).copied());
        let hosts: BTreeSet<usize> = read.collect();
        hosts.into_iter().rev().find(|host| self.may_join(*host, at))
    }

    fn may_join(&self, host: usize, at: usize) -> bool {
        let cluster = &self.clusters[&host];
        let (values, width) = (self.values(cluster), self.width_of(at));
        let takes = match (cluster.head, width) {
            (Some(head), None) => ends_with_chains(&self.op_of(head)),
            (Some(_), Some(_)) => false,
            (None, width) => cluster.width.is_none() || width.is_none() || cluster.width == width,
        };
        let is_waited_for = |between: usize| {
            !cluster.chains.contains(&between)
                && values.iter().any(|value| self.reads[between].contains(value))
        };
        if !takes
            || at - host > WAIT_MAX
            || !self.reads_in_place(cluster, &values, at)
            || (host + 1..at).any(is_waited_for)
        {
            return false;
        }
        let mut joined = Cluster { width: cluster.width.or(width), ..cluster.clone() };
        joined.chains.push(at);
        let operations: usize = joined.chains.iter().map(|chain| self.groups[*chain].nodes.len()).sum();
        operations <= OPERATIONS_MAX && self.bindings(&joined) <= BINDINGS_MAX
    }

    /// Returns whether every value of the cluster that a group reads is available where the group's element is
    /// computed: the same element, or a number of its row.
    fn reads_in_place(&self, cluster: &Cluster, values: &[ValueId], at: usize) -> bool {
        let shape = self.shape_of(at);
        let (elements, width) = (cluster.elements, cluster.width.or(self.width_of(at)));
        let of_rows = width.map(|width| elements / width);
        let own = match self.width_of(at) {
            Some(width) => volume(shape) * width,
            None => volume(shape),
        };
        if own != elements && Some(own) != of_rows {
            return false;
        }
        let is_at_hand = |id: ValueId| {
            let value = unshaped(self.graph, id);
            let read = volume(self.graph.shape(value));
            let is_row_number = || match (width, shape.split_last()) {
                (Some(width), Some((last, outer))) => {
                    // The size of the last axis is the row's width, and the value has size 1 there.
                    let repeated = self.graph.shape(id);
                    let is_one = repeated.len() == shape.len() && repeated.split_last() == Some((&1, outer));
                    *last == width && is_one && own == elements && Some(read) == of_rows
                }
                _ => false,
            };
            values.contains(&value) && (read == own || is_row_number())
        };
        let inside: BTreeSet<ValueId> =
            self.groups[at].nodes.iter().map(|node| self.graph.nodes[*node].output).collect();
        let inputs = self.groups[at].nodes.iter().flat_map(|node| &self.graph.nodes[*node].inputs);
        let mut from_cluster =
            inputs.filter(|id| !inside.contains(id) && values.contains(&unviewed(self.graph, **id)));
        from_cluster.all(|id| is_at_hand(*id))
    }

    /// Returns the number of elements in a row, if a group reduces rows that are short enough for one invocation.
    fn width_of(&self, at: usize) -> Option<usize> {
        row_width(self.graph, self.groups[at].sink)
    }

    /// Returns the values that a cluster computes and that can be read: its head's result, and the last value of each
    /// chain.
    fn values(&self, cluster: &Cluster) -> Vec<ValueId> {
        let groups = cluster.head.iter().chain(&cluster.chains);
        groups.map(|group| self.graph.nodes[self.groups[*group].sink].output).collect()
    }

    /// Returns the values of a cluster that something outside reads.
    fn stored(&self, cluster: &Cluster) -> Vec<ValueId> {
        let inside = |group: &usize| cluster.chains.contains(group);
        let mut values = self.values(cluster);
        values.retain(|value| {
            let is_output = self.outputs.iter().any(|output| unviewed(self.graph, *output) == *value);
            is_output || self.final_readers(*value).iter().any(|group| !inside(group))
        });
        values
    }

    /// Returns the groups that read a value, directly or in another shape. Other views count as groups of their own.
    fn final_readers(&self, value: ValueId) -> Vec<usize> {
        let mut found = Vec::new();
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            for reader in &self.readers[value.0] {
                let node = &self.graph.nodes[*reader];
                match node.op {
                    Op::Reshape => pending.push(node.output),
                    _ => found.push(self.group_of[reader]),
                }
            }
        }
        found
    }

    /// Returns the number of tensors that the dispatch of a cluster binds.
    fn bindings(&self, cluster: &Cluster) -> usize {
        let values = self.values(cluster);
        let groups = cluster.head.iter().chain(&cluster.chains);
        let mut read: BTreeSet<ValueId> =
            groups.flat_map(|group| self.reads[*group].iter().copied()).collect();
        // Count a chain that is fused into a sum by the tensors that the chain reads.
        let computed: Vec<ValueId> = read.iter().copied().filter(|value| self.is_computed(*value)).collect();
        for value in computed {
            read.remove(&value);
            if let Source::Node(node) = self.graph.values[value.0].source {
                read.extend(&self.reads[self.group_of[&node]]);
            }
        }
        read.iter().filter(|value| !values.contains(value)).count() + self.stored(cluster).len()
    }

    fn is_computed(&self, value: ValueId) -> bool {
        match self.graph.values[value.0].source {
            Source::Node(node) => self.group_of.get(&node).is_some_and(|at| self.prologues.contains(at)),
            _ => false,
        }
    }

    /// Returns whether a sum is the only reader of a chain's result.
    fn is_prologue(&self, value: ValueId) -> bool {
        let [reader] = self.readers[value.0][..] else { return false };
        let is_output = self.outputs.contains(&value);
        let is_sum = matches!(self.graph.nodes[reader].op, Op::Reduce { .. } | Op::SumTo);
        is_sum && !is_output && row_width(self.graph, reader).is_none()
    }

    fn op_of(&self, group: usize) -> Op {
        self.graph.nodes[self.groups[group].sink].op.clone()
    }

    fn shape_of(&self, group: usize) -> &[usize] {
        self.graph.shape(self.graph.nodes[self.groups[group].sink].output)
    }
}

/// Returns the number of elements in a row, if a node reduces the last axis and that axis is short.
fn row_width(graph: &Graph, node: usize) -> Option<usize> {
    let node = &graph.nodes[node];
    let (last, outer) = graph.shape(*node.inputs.first()?).split_last()?;
    let is_of_rows = match &node.op {
        Op::Reduce { axes, .. } => axes[..] == [outer.len()],
        Op::SumTo => graph.shape(node.output).split_last() == Some((&1, outer)),
        _ => false,
    };
    (is_of_rows && (2..=ROW_MAX).contains(last)).then_some(*last)
}

/// Returns the values that a group reads, with all views removed. Constant numbers do not count.
fn reads(graph: &Graph, group: &Group) -> BTreeSet<ValueId> {
    let inside: BTreeSet<ValueId> = group.nodes.iter().map(|node| graph.nodes[*node].output).collect();
    let inputs = group.nodes.iter().flat_map(|node| &graph.nodes[*node].inputs);
    let outside = inputs.filter(|input| !inside.contains(input) && graph.scalar(**input).is_none());
    outside.map(|input| unviewed(graph, *input)).collect()
}

/// Returns the first value of the chain of views that ends with this value. It has the same elements, possibly in
/// another order.
fn unviewed(graph: &Graph, id: ValueId) -> ValueId {
    match graph.values[id.0].source {
        Source::Node(node) if is_view(&graph.nodes[node].op) => unviewed(graph, graph.nodes[node].inputs[0]),
        _ => id,
    }
}

/// Returns the first value of the chain of reshapes that ends with this value. It has the same elements in the same
/// order.
pub(super) fn unshaped(graph: &Graph, id: ValueId) -> ValueId {
    match graph.values[id.0].source {
        Source::Node(node) if graph.nodes[node].op == Op::Reshape => {
            unshaped(graph, graph.nodes[node].inputs[0])
        }
        _ => id,
    }
}

/// Returns whether a kernel stores every element of its result exactly once.
fn ends_with_chains(op: &Op) -> bool {
    matches!(
        op,
        Op::MatMul { .. }
            | Op::Conv { .. }
            | Op::ConvInputGradient { .. }
            | Op::ConvFilterGradient { .. }
            | Op::Reduce { .. }
            | Op::SumTo
            | Op::Gather { .. }
            | Op::Unslice { .. }
            | Op::MaxPool { .. }
            | Op::MaxPoolGradient { .. }
            | Op::AveragePool { .. }
            | Op::AveragePoolGradient { .. }
    )
}
