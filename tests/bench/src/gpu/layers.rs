//! Measures large matrix products and the most expensive kernels of the CNN. The results are relative to the fastest
//! product in the same run on the same adapter.

use std::collections::BTreeMap;

use folkmoot_engine::{Gpu, block_on};

use super::{Arguments, model::BenchModel, own, table};
use crate::{Failure, clock};

/// The products, each as m, k and n.
const PRODUCTS: [[usize; 3]; 6] = [
    [512, 512, 512],
    [1024, 1024, 1024],
    [2048, 2048, 2048],
    [4096, 4096, 4096],
    [256, 784, 200],
    [256, 3136, 512],
];
/// The largest product that is measured on a software adapter, in floating-point operations. Larger products take too
/// long.
const SOFTWARE_FLOPS_MAX: f64 = 3e9;
/// The number of measured steps. The result is the fastest time of each kernel.
const TIMED_STEPS: usize = 5;

/// Measures the products and kernels, and prints the table.
///
/// # Errors
/// Returns the error of the engine.
pub fn measure(gpu: &Gpu, arguments: &Arguments) -> Result<(), Failure> {
    let started = clock::start();
    let is_software = gpu.report().kind == "software";
    let flops = |dims: &[usize; 3]| 2.0 * dims.iter().map(|size| *size as f64).product::<f64>();
    let mut measured = Vec::new();
    for dims in PRODUCTS.iter().filter(|dims| !is_software || flops(dims) <= SOFTWARE_FLOPS_MAX) {
        measured.push((*dims, block_on(gpu.product_gflops(*dims, &|| started.elapsed()))?));
    }
    let peak = measured.iter().map(|(_, gflops)| *gflops).fold(0.0, f64::max);
    for ([m, k, n], gflops) in measured {
        table::layer(&format!("product {m} x {k} x {n}"), gflops, peak, arguments)?;
    }
    if gpu.report().timestamps {
        for batch in &arguments.batches {
            for (name, gflops) in kernels(gpu, *batch, arguments)? {
                table::layer(&format!("CNN, batch {batch}: {name}"), gflops, peak, arguments)?;
            }
        }
    }
    Ok(())
}

/// Returns the speed of each kernel of the CNN that multiplies matrices, in billions of operations per second.
fn kernels(gpu: &Gpu, batch: usize, arguments: &Arguments) -> Result<BTreeMap<&'static str, f64>, Failure> {
    let mut trainer = own::trainer(BenchModel::Cnn, batch)?;
    trainer.use_gpu(gpu)?;
    own::warm_up(&mut trainer, u64::from(arguments.steps))?;
    let mut best: BTreeMap<&'static str, f64> = BTreeMap::new();
    for _ in 0..TIMED_STEPS {
        let mut sums: BTreeMap<&'static str, (u64, f64)> = BTreeMap::new();
        for kernel in trainer.step_timed()? {
            let sum = sums.entry(kernel.name).or_default();
            *sum = (sum.0 + kernel.flops, sum.1 + kernel.nanoseconds);
        }
        for (name, (flops, nanoseconds)) in sums {
            if name.starts_with("conv") || name.starts_with("matrix") {
                let fastest = best.entry(name).or_default();
                *fastest = fastest.max(flops as f64 / nanoseconds);
            }
        }
    }
    Ok(best)
}
