//! The processor of this machine: its name, and the speed of the engine's kernels on it.

use std::{hint::black_box, thread, time::Duration};

use folkmoot_client::Host;
use folkmoot_engine::{
    AdapterPeak, Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, Trainer, TrainingPlan, onnx,
};

/// The number of measurements, of which the fastest is reported.
const REPETITIONS: usize = 5;
/// The rows of the left matrix of the product. Its columns, and both dimensions of the right matrix, are `WIDTH`.
const ROWS: usize = 512;
const WIDTH: usize = 1024;
/// The number of floats to copy, which is more than caches hold.
const COPIED: usize = 1 << 24;

/// Returns the processor's name, if the system reports it, and the widest vector instructions that the kernels use.
pub fn name() -> String {
    let named = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    format!("{}, {}", named.unwrap_or_else(|| std::env::consts::ARCH.to_owned()), vectors())
}

/// Measures the peak speed of the engine's kernels with this many threads. Returns `None` if the measurement fails.
pub fn peak(threads: usize, host: &Host) -> Option<AdapterPeak> {
    let matmul_gflops = matmul_gflops(threads, host)?;
    Some(AdapterPeak { matmul_gflops, bandwidth_gb_per_s: bandwidth(threads, host) })
}

/// Returns the GFLOP/s of the fastest kernel in the training steps of a model with one layer, whose work is almost
/// only matrix products.
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
            // Count only products: sums and copies have far fewer operations.
            if flops >= (ROWS * WIDTH * WIDTH) as u64 {
                fastest = fastest.max(flops as f64 / taken.as_secs_f64() / 1e9);
            }
            begun = now;
        };
        trainer.step_observed(&mut observe).ok()?;
    }
    (fastest > 0.0).then_some(fastest)
}

/// Returns the memory bandwidth in GB/s, reads plus writes, of a copy that is divided over all threads.
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
