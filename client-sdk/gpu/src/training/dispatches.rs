//! The plan of a training step: gathers the batch, runs forward and backward, clips, updates, and logs.

use folkmoot_graph::op::{ElementOp, Op, volume};
use folkmoot_graph::schedule::{needed_nodes, readers};
use folkmoot_graph::step::StepGraph;
use folkmoot_graph::{Graph, Source as Origin, ValueId};

use super::update::Update;
use super::weights::WeightLayout;
use crate::GpuError;
use crate::accessor::{Format, Read};
use crate::compile::Compiler;
use crate::kernels::{norm_partials, updates};
use crate::lowering::Kernel;
use crate::plan::{Buffer, Place, Plan};
use crate::precision::half_values;
use crate::tensor::Tensor;
use crate::traits::Traits;
use crate::uniform::LOG_COLUMNS;
use crate::view::is_view;

const GATHER: &str = include_str!("../../shader/shared/gather_batch.wgsl");

/// The parameters of a step besides its graph.
#[derive(Debug, Clone)]
pub(super) struct StepSetting {
    pub(super) layout: WeightLayout,
    /// The number of examples in the data set.
    pub(super) examples: usize,
    /// The numbers of features and labels per example.
    pub(super) widths: [usize; 2],
    /// The maximum number of batches in a submission.
    pub(super) rows_max: usize,
    /// The maximum batch size.
    pub(super) batch_size_max: usize,
    /// The rule by which weights are updated.
    pub(super) update: Update,
    /// True if activations are stored in 16 bits.
    pub(super) is_mixed: bool,
    /// True if examples are weighted.
    pub(super) has_shares: bool,
}

impl StepSetting {
    /// Lists the buffers whose sizes are the same for every batch, each with its size in bytes.
    pub(super) fn sizes(&self) -> Vec<(Buffer, usize)> {
        let trained = self.layout.trained_bytes;
        let numbers = |count: usize| count * size_of::<f32>();
        let mut sizes = vec![
            (Buffer::Weights, self.layout.bytes),
            (Buffer::Gradient, trained),
            (Buffer::Features, numbers(self.examples * self.widths[0])),
            (Buffer::Labels, numbers(self.examples * self.widths[1])),
            (Buffer::Order, numbers(self.rows_max * self.batch_size_max)),
            (Buffer::Log, numbers(LOG_COLUMNS * self.rows_max)),
        ];
        let slots = [Buffer::First, Buffer::Second];
        sizes.extend(slots[..self.update.slots()].iter().map(|slot| (*slot, trained)));
        sizes.extend(self.update.has_start().then_some((Buffer::Start, trained)));
        sizes.extend(self.update.adjustment.is_corrected.then_some((Buffer::Correction, trained)));
        sizes.extend(self.is_mixed.then_some((Buffer::Scale, numbers(2))));
        let shares = numbers(self.rows_max * self.batch_size_max);
        sizes.extend(self.has_shares.then_some((Buffer::Shares, shares)));
        sizes
    }
}

/// Plans the step of a graph. The graph must count correct predictions.
///
/// # Errors
/// Returns a [`GpuError`] if a tensor is too large for a kernel.
pub(super) fn plan_step(
    step: &StepGraph,
    batch_size: usize,
    setting: &StepSetting,
    traits: &Traits,
) -> Result<Plan, GpuError> {
    let mut compiler = Compiler::new(&step.graph, traits);
    let layout = &setting.layout;
    for (id, value) in step.graph.values.iter().enumerate() {
        if let Origin::Parameter(index) = value.source {
            compiler.homes.insert(Tensor(id), layout.place(index, Buffer::Weights));
        }
    }
    gather(&mut compiler, step, batch_size, setting);
    if let Some(scale) = step.scale {
        compiler.homes.insert(scale.into(), whole(Buffer::Scale, 1, Format::Single));
    }
    let slopes: Vec<ValueId> = step.slopes.iter().map(|(_, slope)| *slope).collect();
    let values: Vec<ValueId> = step.statistics.iter().map(|(_, value)| *value).collect();
    let mut outputs = [&[step.loss], &slopes[..], &values[..]].concat();
    let right = step.right.expect("a device asks for a graph that counts right answers");
    let is_computed = matches!(step.graph.values[right.0].source, Origin::Node(_));
    outputs.extend(is_computed.then_some(right));
    // If a kernel stores a gradient, it writes directly to where the update reads it. Other gradients are copied there.
    for (index, slope) in &step.slopes {
        if is_stored(&step.graph, *slope, &outputs) {
            compiler.homes.insert((*slope).into(), layout.place(*index, Buffer::Gradient));
        }
    }
    if setting.is_mixed {
        compiler.halves = half_values(&step.graph, &step.loss_nodes, &outputs);
    }
    in_place_statistics(&mut compiler, step, &outputs, layout);
    let tensors = compiler.add_graph(&outputs);
    let (loss, others) = (tensors[0], &tensors[1..]);
    for ((index, _), tensor) in step.slopes.iter().zip(others) {
        bring(&mut compiler, *tensor, layout.place(*index, Buffer::Gradient));
    }
    for ((index, _), tensor) in step.statistics.iter().zip(&others[slopes.len()..]) {
        bring(&mut compiler, *tensor, layout.place(*index, Buffer::Weights));
    }
    let right = if is_computed { tensors[tensors.len() - 1] } else { right.into() };
    update(&mut compiler, setting, loss, right);
    compiler.finish()
}

/// Copies a tensor to its home, unless the tensor is already there.
fn bring(compiler: &mut Compiler<'_>, tensor: Tensor, home: Place) {
    if compiler.homes.get(&tensor) != Some(&home) {
        let target = compiler.external(home);
        compiler.copy(Read { tensor, view: None }, target);
    }
}

/// Returns whether a separate kernel will store a value: it is not a view, and not another output.
fn is_stored(graph: &Graph, id: ValueId, outputs: &[ValueId]) -> bool {
    let Origin::Node(index) = graph.values[id.0].source else { return false };
    !is_view(&graph.nodes[index].op) && outputs.iter().filter(|output| **output == id).count() == 1
}

/// Stores the new value of a running statistic over the old one, if nothing else reads the old value.
fn in_place_statistics(
    compiler: &mut Compiler<'_>,
    step: &StepGraph,
    outputs: &[ValueId],
    layout: &WeightLayout,
) {
    let graph = &step.graph;
    let readers = readers(graph, &needed_nodes(graph, outputs));
    for (index, value) in &step.statistics {
        let is_old = |id: &usize| graph.values[*id].source == Origin::Parameter(*index);
        let Some(old) = (0..graph.values.len()).find(is_old) else { continue };
        let is_elementwise = |node: &usize| {
            let node = &graph.nodes[*node];
            matches!(node.op, Op::Element(ElementOp::Multiply))
                && volume(graph.shape(node.output)) == volume(graph.shape(*value))
        };
        if readers[old].len() == 1
            && readers[old].iter().all(is_elementwise)
            && is_stored(graph, *value, outputs)
        {
            compiler.homes.insert((*value).into(), layout.place(*index, Buffer::Weights));
        }
    }
}

/// Copies the examples of the step to the inputs of the graph.
fn gather(compiler: &mut Compiler<'_>, step: &StepGraph, batch_size: usize, setting: &StepSetting) {
    let [features, labels] = setting.widths;
    let input = |index: usize| {
        let is_input = |value: &folkmoot_graph::Value| value.source == Origin::Input(index);
        Tensor(step.graph.values.iter().position(is_input).expect("a step graph has features and labels"))
    };
    let all_features =
        compiler.external(whole(Buffer::Features, setting.examples * features, Format::Single));
    let all_labels = compiler.external(whole(Buffer::Labels, setting.examples * labels, Format::Single));
    let order = whole(Buffer::Order, setting.rows_max * setting.batch_size_max, Format::Integer);
    let order = compiler.external(order);
    let source = format!(
        "const FEATURES: u32 = {}u;\nconst FEATURE_WIDTH: u32 = {}u;\nconst LABEL_WIDTH: u32 = {}u;\n{GATHER}",
        batch_size * features,
        features.max(1),
        labels.max(1)
    );
    let kernel = Kernel::each("gather batch", &source, batch_size * (features + labels));
    let reads = [("all_features", all_features), ("all_labels", all_labels), ("order", order)];
    let writes = [("features", input(0)), ("labels", step.labels.into())];
    compiler.lowering.run(Kernel { reads_step: true, ..kernel }, &reads, &writes);
    if let Some(shares) = step.shares {
        let all = whole(Buffer::Shares, setting.rows_max * setting.batch_size_max, Format::Single);
        let all = compiler.external(all);
        let source = "fn element(i: u32) { store_out(i, load_x(step.first + i)); }";
        let kernel = Kernel { reads_step: true, ..Kernel::each("gather batch", source, batch_size) };
        compiler.lowering.run(kernel, &[("x", all)], &[("out", shares.into())]);
    }
}

/// Clips, updates the weights, and writes the log.
fn update(compiler: &mut Compiler<'_>, setting: &StepSetting, loss: Tensor, right: Tensor) {
    let (layout, update) = (&setting.layout, setting.update);
    let pieces = layout.pieces(compiler.traits.binding_bytes_max as usize);
    let lengths: Vec<usize> = pieces.iter().map(|(_, length)| *length).collect();
    let log = compiler.external(whole(Buffer::Log, LOG_COLUMNS * setting.rows_max, Format::Counter));
    let scale = compiler.external(whole(Buffer::Scale, 2, Format::Single));
    let partial = norm_partials(lengths.iter().sum());
    let (norm, partial) = (compiler.lowering.temporary(3), compiler.lowering.temporary(partial));
    let mut tensor = |name: &'static str, piece: Option<usize>| {
        let of_weights = |compiler: &mut Compiler<'_>, buffer: Buffer| {
            let all = layout.trained(buffer);
            let (start, length) = piece.map_or((0, all.length), |piece| pieces[piece]);
            compiler.external(Place { start, length, ..all })
        };
        let tensor = match name {
            "log" => log,
            "scale" => scale,
            "loss" => loss,
            "correct" => right,
            "norm" => norm,
            "partial" => partial,
            "weights" => of_weights(compiler, Buffer::Weights),
            "gradient" => of_weights(compiler, Buffer::Gradient),
            "first" => of_weights(compiler, Buffer::First),
            "second" => of_weights(compiler, Buffer::Second),
            "start" => of_weights(compiler, Buffer::Start),
            "correction" => of_weights(compiler, Buffer::Correction),
            _ => unreachable!("an update names no {name}"),
        };
        (name, tensor)
    };
    let mut named = Vec::new();
    for update in updates(update.optimizer, update.adjustment, &lengths) {
        let reads: Vec<_> = update.reads.iter().map(|name| tensor(name, update.piece)).collect();
        let writes: Vec<_> = update.writes.iter().map(|name| tensor(name, update.piece)).collect();
        named.push((update.kernel, reads, writes));
    }
    for (kernel, reads, writes) in named {
        compiler.lowering.run(kernel, &reads, &writes);
    }
}

fn whole(buffer: Buffer, length: usize, format: Format) -> Place {
    Place { buffer, start: 0, length, format }
}
