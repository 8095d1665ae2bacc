//! The processor of this machine: its name, and how fast the engine's kernels are on it.

use std::{hint::black_box, thread, time::Duration};

use folkmoot_client::Host;
use folkmoot_engine::{
    AdapterPeak, Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, Trainer, TrainingPlan, onnx,
};

/// Measurements of which the fastest counts.
const REPETITIONS: usize = 5;
/// Rows of the product, and its other dimensions.
const ROWS: usize = 512;
const WIDTH: usize = 1024;
/// Floats that are copied: more than caches hold.
const COPIED: usize = 1 << 24;

/// The processor's name where the system tells it, and the widest vectors that kernels use.
pub fn name() -> String {
    let named = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    format!("{}, {}", named.unwrap_or_else(|| std::env::consts::ARCH.to_owned()), vectors())
}

/// The peaks of this many threads, as the engine's kernels reach them. `None` if there is no memory for it.
pub fn peak(threads: usize, host: &Host) -> Option<AdapterPeak> {
    let matmul_gflops = matmul_gflops(threads, host)?;
    Some(AdapterPeak { matmul_gflops, bandwidth_gb_per_s: bandwidth(threads, host) })
}

/// The fastest kernel of a step of one layer: its products are all there is to do.
fn matmul_gflops(threads: usize, host: &Host) -> Option<f64> {
    let model = Model::from_onnx(&onnx::build::mlp(&[WIDTH, WIDTH], 1), &ImportLimits::default()).ok()?;
    let numbers = |count: usize| (0..count).map(|index| (index % 251) as f32 / 251.0 - 0.5).collect();
    let labels = Labels::Targets(numbers(ROWS * WIDTH), WIDTH);
    let examples = Examples::new(numbers(ROWS * WIDTH), vec![WIDTH], labels).ok()?;
    let plan = TrainingPlan {
        batch_size: ROWS as u32,
        epochs: REPETITIONS as u32,
        ..TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.01))
    };
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, 1).ok()?;
    trainer.set_threads(threads).ok()?;
    let mut fastest = 0f64;
    while !trainer.progress().finished {
        let mut begun = host.elapsed();
        let mut observe = |_: &'static str, flops: u64| {
            let now = host.elapsed();
            let taken = now.saturating_sub(begun).max(Duration::from_nanos(1));
            // Sums and copies have operations too, but few.
            if flops >= (ROWS * WIDTH * WIDTH) as u64 {
                fastest = fastest.max(flops as f64 / taken.as_secs_f64() / 1e9);
            }
            begun = now;
        };
        trainer.step_observed(&mut observe).ok()?;
    }
    (fastest > 0.0).then_some(fastest)
}

/// Billions of bytes a second, read and written, in a copy that all threads share.
fn bandwidth(threads: usize, host: &Host) -> f64 {
    let (from, mut to) = (vec![1f32; COPIED], vec![0f32; COPIED]);
    let part = COPIED.div_ceil(threads);
    let mut fastest = Duration::MAX;
    for _ in 0..REPETITIONS {
        let begun = host.elapsed();
        thread::scope(|scope| {
            for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                scope.spawn(move || to.copy_from_slice(black_box(from)));
            }
        });
        black_box(&mut to);
        fastest = fastest.min(host.elapsed().saturating_sub(begun));
    }
    let bytes = 2 * COPIED * size_of::<f32>();
    bytes as f64 / fastest.max(Duration::from_nanos(1)).as_secs_f64() / 1e9
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> &'static str {
    if std::is_x86_feature_detected!("avx512f") {
        "AVX-512"
    } else if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        "AVX2"
    } else {
        "SSE2"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> &'static str {
    "its vector instructions"
}
