//! Updates weights from a gradient: computes the norm if needed, then runs one dispatch over all trained weights.

use folkmoot_protocol::{GradientClipping, LocalOptimizer};

use super::super::lowering::Kernel;
use super::norm;

const UPDATE: &str = include_str!("../../shader/optimizer/update.wgsl");
/// Defines `log_loss`, which writes the loss of the step to the log.
const LOG: &str = include_str!("../../shader/optimizer/log.wgsl");
/// Defines `adam_step`, for Adam and AdamW.
const MOMENTS: &str = include_str!("../../shader/optimizer/moments.wgsl");
const SCALE: &str = include_str!("../../shader/optimizer/scale.wgsl");

/// The maximum number of tensors in a kernel, WebGPU's limit.
const TENSORS_MAX: usize = 8;

/// Adjustments of a gradient before the optimizer, as in `processor/update.rs` of the engine. The loss scale is removed
/// first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AdjustmentKind {
    /// Clipping by norm or value. Per-example clipping must be `None` here: it happens before gradients are averaged.
    pub(crate) clipping: Option<GradientClipping>,
    /// FedProx's mu, the weight of the proximal term.
    pub(crate) proximal_term: f32,
    /// True if SCAFFOLD's correction is added.
    pub(crate) is_corrected: bool,
    /// True if the gradient belongs to a scaled loss, and steps that overflow are skipped (Micikevicius et al. 2018,
    /// section 3.2).
    pub(crate) is_loss_scaled: bool,
}

impl AdjustmentKind {
    fn norm_max(&self) -> Option<f32> {
        match self.clipping {
            Some(GradientClipping::Norm(bound)) => Some(bound),
            _ => None,
        }
    }

    fn value_max(&self) -> Option<f32> {
        match self.clipping {
            Some(GradientClipping::Value(bound)) => Some(bound),
            _ => None,
        }
    }

    fn needs_norm(&self) -> bool {
        self.is_loss_scaled || self.norm_max().is_some()
    }
}

/// A dispatch of the update, and the names of all tensors that it reads and writes.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    pub(crate) kernel: Kernel,
    /// The piece of the weights that the dispatch works on; `None` for all pieces.
    pub(crate) piece: Option<usize>,
    pub(crate) reads: Vec<&'static str>,
    pub(crate) writes: Vec<&'static str>,
}

impl Update {
    fn of_all(kernel: Kernel, reads: Vec<&'static str>, writes: Vec<&'static str>) -> Self {
        Self { kernel, piece: None, reads, writes }
    }
}

/// Returns the number of state values that an optimizer keeps per weight: 0, 1 (the tensor `first`) or 2 (also
/// `second`).
pub(crate) fn slots(optimizer: LocalOptimizer) -> usize {
    match optimizer {
        LocalOptimizer::Sgd { momentum, .. } => usize::from(momentum != 0.0),
        LocalOptimizer::Adam { .. } | LocalOptimizer::AdamW { .. } => 2,
        LocalOptimizer::Adagrad { .. } | LocalOptimizer::Lion { .. } => 1,
        LocalOptimizer::RmsProp { momentum, .. } => 1 + usize::from(momentum != 0.0),
        // They are refused before.
        LocalOptimizer::Muon { .. }
        | LocalOptimizer::Adafactor { .. }
        | LocalOptimizer::Newton { .. }
        | LocalOptimizer::Sophia { .. } => 0,
    }
}

/// Returns the dispatches that adjust and apply the gradient, in execution order. `pieces` gives the number of elements
/// in each piece of the weights; each piece is small enough for one binding.
///
/// `weights`, `gradient`, `first`, `second`, `start` and `correction` have one element per weight. `loss` and `correct`
/// are scalars. `norm` has three elements (see [`norm::kernel`]), `partial` has [`norm::partials`]. `scale` has two:
/// the loss scale and the number of steps since it last changed. All except `gradient` need 32 bits.
///
/// The loss and the number of correct predictions go to columns 0 and 1 of the step's row of `log`. In column 2, bit 0
/// is set if a new weight is not finite, and bit 1 if the step was skipped because a scaled gradient overflowed.
pub(crate) fn updates(
    optimizer: LocalOptimizer,
    adjustment: AdjustmentKind,
    pieces: &[usize],
) -> Vec<Update> {
    let elements = pieces.iter().sum();
    let mut updates = Vec::new();
    if adjustment.needs_norm() {
        let mut reads = vec!["partial"];
        reads.extend(adjustment.is_loss_scaled.then_some("scale"));
        let parts = norm::parts_kernel(elements);
        updates.push(Update::of_all(parts, vec!["gradient"], vec!["partial"]));
        let kernel = norm::kernel(elements, adjustment.norm_max(), adjustment.is_loss_scaled);
        updates.push(Update::of_all(kernel, reads, vec!["norm"]));
    }
    let (mut reads, writes) = tensors(optimizer, adjustment);
    let logs = reads.len() + writes.len() + 2 <= TENSORS_MAX;
    if logs {
        reads.extend(["loss", "correct"]);
    } else {
        let kernel = Kernel::each("log", &format!("{LOG}fn element(i: u32) {{ log_loss(); }}\n"), 1);
        let kernel = Kernel { reads_step: true, ..kernel };
        updates.push(Update::of_all(kernel, vec!["loss", "correct"], vec!["log"]));
    }
    let log = if logs { LOG } else { "fn log_loss() {}\n" };
    let stubs = absent(&reads, &writes);
    let source = [&stubs, &constants(adjustment), log, &optimizer_source(optimizer), UPDATE].concat();
    for (piece, elements) in pieces.iter().enumerate() {
        let kernel = Kernel { reads_step: true, ..Kernel::each("update", &source, *elements) };
        updates.push(Update { kernel, piece: Some(piece), reads: reads.clone(), writes: writes.clone() });
    }
    if adjustment.is_loss_scaled {
        let kernel = Kernel::each("loss scale", SCALE, 1);
        updates.push(Update::of_all(kernel, vec!["norm"], vec!["scale"]));
    }
    updates
}

/// Returns the tensors that the update reads and writes, without those for logging.
fn tensors(optimizer: LocalOptimizer, adjustment: AdjustmentKind) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut reads = vec!["gradient"];
    reads.extend((adjustment.proximal_term != 0.0).then_some("start"));
    reads.extend(adjustment.is_corrected.then_some("correction"));
    reads.extend(adjustment.needs_norm().then_some("norm"));
    let writes = ["log", "weights", "first", "second"];
    (reads, writes[..2 + slots(optimizer)].to_vec())
}

/// Returns WGSL functions that replace the access to absent tensors.
fn absent(reads: &[&str], writes: &[&str]) -> String {
    let mut functions = String::new();
    for name in ["start", "correction", "norm", "first", "second"] {
        if !reads.contains(&name) && !writes.contains(&name) {
            functions += &format!("fn load_{name}(i: u32) -> f32 {{ return 0.0; }}\n");
            functions += &format!("fn store_{name}(i: u32, value: f32) {{}}\n");
        }
    }
    functions
}

fn constants(adjustment: AdjustmentKind) -> String {
    let flags = [
        ("HAS_FACTOR", adjustment.needs_norm()),
        ("CLIPS_VALUE", adjustment.value_max().is_some()),
        ("IS_CORRECTED", adjustment.is_corrected),
        ("IS_LOSS_SCALED", adjustment.is_loss_scaled),
    ];
    let value_max = adjustment.value_max().unwrap_or(1.0);
    let numbers = [("VALUE_MAX", value_max), ("PROXIMAL_TERM", adjustment.proximal_term)];
    flags.map(|(name, flag)| format!("const {name}: bool = {flag};\n")).concat() + &declared(&numbers)
}

/// Returns WGSL with the optimizer's constants and `update(i, weight, gradient)`, which returns the new weight.
fn optimizer_source(optimizer: LocalOptimizer) -> String {
    match optimizer {
        LocalOptimizer::Sgd { momentum, nesterov, weight_decay, .. } => {
            let numbers = declared(&[("MOMENTUM", momentum), ("WEIGHT_DECAY", weight_decay)]);
            let flag = format!("const NESTEROV: bool = {nesterov};\n");
            [&numbers, &flag, include_str!("../../shader/optimizer/sgd.wgsl")].concat()
        }
        LocalOptimizer::Adam { beta1, beta2, epsilon, weight_decay, .. } => {
            let numbers = moments(beta1, beta2, epsilon, weight_decay);
            [&numbers, MOMENTS, include_str!("../../shader/optimizer/adam.wgsl")].concat()
        }
        LocalOptimizer::AdamW { beta1, beta2, epsilon, weight_decay, .. } => {
            let numbers = moments(beta1, beta2, epsilon, weight_decay);
            [&numbers, MOMENTS, include_str!("../../shader/optimizer/adamw.wgsl")].concat()
        }
        LocalOptimizer::Adagrad { epsilon, weight_decay, .. } => {
            let numbers = declared(&[("EPSILON", epsilon), ("WEIGHT_DECAY", weight_decay)]);
            numbers + include_str!("../../shader/optimizer/adagrad.wgsl")
        }
        LocalOptimizer::RmsProp { decay, epsilon, momentum, weight_decay, .. } => {
            let numbers = [
                ("DECAY", decay),
                ("NEW_SQUARE", 1.0 - decay),
                ("EPSILON", epsilon),
                ("MOMENTUM", momentum),
                ("WEIGHT_DECAY", weight_decay),
            ];
            declared(&numbers) + include_str!("../../shader/optimizer/rms_prop.wgsl")
        }
        LocalOptimizer::Lion { beta1, beta2, weight_decay, .. } => {
            let numbers = [
                ("BETA1", beta1),
                ("BETA2", beta2),
                ("NEW_DIRECTION", 1.0 - beta1),
                ("NEW_MEAN", 1.0 - beta2),
                ("WEIGHT_DECAY", weight_decay),
            ];
            declared(&numbers) + include_str!("../../shader/optimizer/lion.wgsl")
        }
        LocalOptimizer::Muon { .. }
        | LocalOptimizer::Adafactor { .. }
        | LocalOptimizer::Newton { .. }
        | LocalOptimizer::Sophia { .. } => {
            unreachable!("a training with this optimizer is refused before its kernels are written")
        }
    }
}

fn moments(beta1: f32, beta2: f32, epsilon: f32, weight_decay: f32) -> String {
    let numbers = [
        ("BETA1", beta1),
        ("BETA2", beta2),
        ("NEW_MEAN", 1.0 - beta1),
        ("NEW_SQUARE", 1.0 - beta2),
        ("EPSILON", epsilon),
        ("WEIGHT_DECAY", weight_decay),
    ];
    declared(&numbers)
}

/// Returns WGSL constants, with the shortest decimals that parse to the same numbers.
fn declared(numbers: &[(&str, f32)]) -> String {
    numbers.iter().map(|(name, number)| format!("const {name}: f32 = {number:?}f;\n")).collect()
}
