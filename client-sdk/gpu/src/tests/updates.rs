//! Optimizers, clipping and other parts of the weight update.

use std::collections::BTreeMap;

use folkmoot_graph::Graph;
use folkmoot_graph::step::block_on;
use folkmoot_protocol::{GradientClipping, LocalOptimizer};

use super::super::accessor::Format;
use super::super::compile::Compiler;
use super::super::kernels::{AdjustmentKind, updates};
use super::super::plan::{Buffer, Place};
use super::super::program::{Program, STORAGE, allocate};
use super::super::tensor::Tensor;
use super::super::uniform::{ROW_BYTES, StepValues};
use super::optimizers::optimizers;
use super::{Tolerance, gpu, numbers};
use crate::Gpu;

/// Tensors by their names; `log` holds bits.
type Tensors = BTreeMap<&'static str, Vec<f32>>;

/// Returns the buffer of a tensor that outlives a step.
fn buffer(name: &str) -> Buffer {
    match name {
        "weights" => Buffer::Weights,
        "gradient" => Buffer::Gradient,
        "first" => Buffer::First,
        "second" => Buffer::Second,
        "scale" => Buffer::Scale,
        "norm" => Buffer::Labels,
        "partial" => Buffer::Features,
        "log" => Buffer::Log,
        "loss" => Buffer::Inputs,
        _ => Buffer::Shares,
    }
}

/// Runs the dispatches of one update over these tensors, in place.
fn run(gpu: &Gpu, optimizer: LocalOptimizer, adjustment: AdjustmentKind, tensors: &mut Tensors) {
    let graph = Graph::default();
    let mut compiler = Compiler::new(&graph, gpu.traits());
    let mut external = |name: &'static str, length: usize| {
        let format = if name == "log" { Format::Counter } else { Format::Single };
        (name, compiler.external(Place { buffer: buffer(name), start: 0, length, format }))
    };
    let known: BTreeMap<&str, Tensor> =
        tensors.iter().map(|(name, elements)| external(name, elements.len())).collect();
    for update in updates(optimizer, adjustment, &[tensors["weights"].len()]) {
        let bind = |names: &[&'static str]| -> Vec<(&'static str, Tensor)> {
            names.iter().map(|name| (*name, known[name])).collect()
        };
        compiler.lowering.run(update.kernel, &bind(&update.reads), &bind(&update.writes));
    }
    let plan = compiler.finish().expect("it fits on the device");
    let mut sizes: Vec<(Buffer, usize)> =
        tensors.iter().map(|(name, elements)| (buffer(name), 4 * elements.len())).collect();
    sizes.push((Buffer::Arena, plan.arena));
    let memories = allocate(gpu, &sizes).expect("there is memory");
    for (name, elements) in tensors.iter() {
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        gpu.queue.write_buffer(&memories[&buffer(name)].buffer, 0, &bytes);
    }
    let steps = gpu.allocate("step values", ROW_BYTES, STORAGE | wgpu::BufferUsages::UNIFORM);
    let steps = steps.expect("there is memory");
    let values =
        StepValues { learning_rate: 0.5, rate: 0.5, root_factor: 1.0, index: 1, ..Default::default() };
    gpu.queue.write_buffer(&steps.buffer, 0, &values.row());
    let program = Program::new(gpu, &plan, &[&memories], &steps).expect("kernels compile");
    let mut encoder = gpu.encoder();
    program.encode(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()), 0);
    let parts: Vec<_> = tensors
        .iter()
        .map(|(name, elements)| (&memories[&buffer(name)].buffer, 0, 4 * elements.len() as u64))
        .collect();
    let read = block_on(gpu.read(encoder, &parts));
    let bytes = read.expect("the device works");
    let mut floats = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    tensors.values_mut().for_each(|elements| elements.fill_with(|| floats.next().expect("all are read")));
}

fn tensors(weights: Vec<f32>, gradient: Vec<f32>, scale: [f32; 2]) -> Tensors {
    let zeros = vec![0.0; weights.len()];
    let partial = vec![0.0; super::super::kernels::norm_partials(weights.len())];
    BTreeMap::from([
        ("weights", weights),
        ("gradient", gradient),
        ("first", zeros.clone()),
        ("second", zeros),
        ("scale", scale.to_vec()),
        ("norm", vec![0.0; 3]),
        ("partial", partial),
        ("loss", vec![1.25]),
        ("correct", vec![7.0]),
        ("log", vec![0.0; 8]),
    ])
}

const NONE: AdjustmentKind =
    AdjustmentKind { clipping: None, proximal_term: 0.0, is_corrected: false, is_loss_scaled: false };

fn row(tensors: &Tensors) -> [u32; 3] {
    [4, 5, 6].map(|at: usize| tensors["log"][at].to_bits())
}

/// With a loss scale of 1024, scaled gradients of 2 · 1024 move every weight by −½ · 2.
#[test]
fn the_loss_scale_is_taken_out_and_grows_after_many_good_steps() {
    let Some(gpu) = gpu() else { return };
    let adjustment = AdjustmentKind { is_loss_scaled: true, ..NONE };
    for (good_steps, scale) in [(0.0, [1024.0, 1.0]), (1999.0, [2048.0, 0.0])] {
        let mut tensors = tensors(vec![3.0; 300], vec![2048.0; 300], [1024.0, good_steps]);
        run(gpu, LocalOptimizer::sgd(0.5), adjustment, &mut tensors);
        assert_eq!(tensors["weights"], [2.0; 300]);
        assert_eq!(tensors["scale"], scale);
        assert_eq!(row(&tensors), [1.25f32.to_bits(), 7f32.to_bits(), 0]);
    }
}

#[test]
fn a_step_that_overflows_is_left_out_and_halves_the_scale() {
    let Some(gpu) = gpu() else { return };
    let adjustment = AdjustmentKind { is_loss_scaled: true, ..NONE };
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        for optimizer in optimizers() {
            let mut tensors = tensors(vec![3.0; 5000], vec![1.0; 5000], [1024.0, 17.0]);
            tensors.entry("gradient").and_modify(|gradient| gradient[4321] = bad);
            run(gpu, optimizer, adjustment, &mut tensors);
            assert_eq!(tensors["weights"], [3.0; 5000]);
            assert_eq!((&tensors["first"], &tensors["second"]), (&vec![0.0; 5000], &vec![0.0; 5000]));
            assert_eq!(tensors["scale"], [512.0, 0.0]);
            assert_eq!(row(&tensors), [1.25f32.to_bits(), 7f32.to_bits(), 2]);
        }
    }
}

#[test]
fn a_weight_that_is_not_finite_is_logged() {
    let Some(gpu) = gpu() else { return };
    for bad in [f32::INFINITY, f32::NAN] {
        for optimizer in optimizers() {
            for clipping in [None, Some(GradientClipping::Norm(1.0)), Some(GradientClipping::Value(1.0))] {
                let mut tensors = tensors(vec![3.0; 700], vec![1.0; 700], [1.0, 0.0]);
                tensors.entry("gradient").and_modify(|gradient| gradient[600] = bad);
                run(gpu, optimizer, AdjustmentKind { clipping, ..NONE }, &mut tensors);
                // As on the CPU, clipping by value makes an infinite element finite.
                let is_cut = bad == f32::INFINITY && matches!(clipping, Some(GradientClipping::Value(_)));
                assert_eq!(row(&tensors)[2], u32::from(!is_cut), "{optimizer:?} {clipping:?} {bad}");
            }
        }
    }
}

/// Padding between tensors is 0 everywhere and must stay 0, even without the epsilon that plan validation requires.
#[test]
fn zeros_stay_zeros() {
    let Some(gpu) = gpu() else { return };
    let adam =
        LocalOptimizer::Adam { learning_rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 0.0, weight_decay: 0.1 };
    let adagrad = LocalOptimizer::Adagrad { learning_rate: 0.1, epsilon: 0.0, weight_decay: 0.0 };
    for optimizer in [adam, adagrad] {
        let mut tensors = tensors(vec![0.0; 20], vec![0.0; 20], [1.0, 0.0]);
        run(gpu, optimizer, NONE, &mut tensors);
        for name in ["weights", "first", "second"] {
            assert_eq!(tensors[name], [0.0; 20]);
        }
        assert_eq!(row(&tensors)[2], 0);
    }
}

#[test]
fn norms_of_small_and_large_gradients() {
    let Some(gpu) = gpu() else { return };
    let adjustment = AdjustmentKind { clipping: Some(GradientClipping::Norm(1.0)), ..NONE };
    for (length, magnitude) in [(1, 1.0f32), (257, 1e30), (5000, 1e20), (300_000, 1.0), (70_000, 1e-15)] {
        let gradient: Vec<f32> = numbers(length, 6).iter().map(|x| x * magnitude).collect();
        let norm = gradient.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let mut tensors = tensors(vec![0.0; length], gradient, [1.0, 0.0]);
        run(gpu, LocalOptimizer::sgd(0.5), adjustment, &mut tensors);
        let factor = if norm > 1.0 { (1.0 / norm) as f32 } else { 1.0 };
        Tolerance { relative: 1e-6, absolute: 0.0 }.check(&tensors["norm"][..1], &[norm as f32]);
        assert!((tensors["norm"][2] / factor - 1.0).abs() < 1e-6, "{} and {factor}", tensors["norm"][2]);
        assert_eq!(tensors["norm"][1], 1.0);
    }
}
