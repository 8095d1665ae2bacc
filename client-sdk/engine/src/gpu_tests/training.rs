//! Compares whole training runs on the GPU with those on the CPU.

use super::gpu;
use crate::data::{CsvOptions, read_csv};
use crate::{ImportLimits, LocalOptimizer, Loss, Model, Trainer, TrainingPlan};

const MODEL: &[u8] = include_bytes!("../../../../examples/digits/model.onnx");
const CSV: &[u8] = include_bytes!("../../../../examples/digits/digits.csv");

#[test]
fn the_digits_are_learned_alike() {
    let Some(gpu) = gpu() else { return };
    let model = Model::from_onnx(MODEL, &ImportLimits::default()).expect("the example is a valid model");
    let examples = read_csv(CSV, &CsvOptions::default()).expect("the example is a valid file");
    let optimizer =
        LocalOptimizer::Sgd { learning_rate: 0.1, momentum: 0.9, nesterov: false, weight_decay: 1e-4 };
    let plan = TrainingPlan { epochs: 2, ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer) };
    let start = model.initial_weights();
    let new = || Trainer::new(&model, &start, plan.clone(), &examples, 3).expect("plan and examples fit");
    let (mut on_cpu, mut on_gpu) = (new(), new());
    on_gpu.use_gpu(gpu).expect("the device runs the plan");
    on_cpu.advance(u64::MAX).expect("it does not diverge");
    on_gpu.advance(u64::MAX).expect("it does not diverge");
    assert_eq!(on_gpu.gpu_fault(), None);
    let (cpu, gpu) = (on_cpu.finish(), on_gpu.finish());
    println!("{:?}\n{:?}", cpu.metrics, gpu.metrics);
    assert_eq!(cpu.metrics.step_count, gpu.metrics.step_count);
    let norm = |floats: &[f32]| floats.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let difference: Vec<f32> = cpu.delta.iter().zip(&gpu.delta).map(|(a, b)| a - b).collect();
    assert!(norm(&difference) < 1e-3 * norm(&cpu.delta), "{} of {}", norm(&difference), norm(&cpu.delta));
}
