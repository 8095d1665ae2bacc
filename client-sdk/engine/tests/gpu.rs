//! Training on a GPU: repeatable, resumable on any device, and not lost when the GPU fails.
#![cfg(feature = "gpu")]

use std::time::Duration;

use crate::adapter::gpu;
use crate::digits_example::{digits, model, plan};
use folkmoot_engine::{
    Examples, Gpu, GpuError, GradientClipping, ImportLimits, LocalOptimizer, Loss, Model, Precision,
    SharpnessAware, TrainError, Trainer, TrainingOutcome, TrainingPlan,
};

const SEED: u64 = 11;
/// The largest difference between training on the GPU and on the CPU, relative to the norm of the delta. It is
/// rounding, amplified over a few dozen steps.
const TOLERANCE: f64 = 1e-4;

fn small() -> (Model, Examples, TrainingPlan) {
    let (training, _) = digits();
    let indices: Vec<usize> = (0..100).collect();
    let examples = training.subset(&indices).expect("the indices are those of rows");
    (model(), examples, TrainingPlan { proximal_term: 0.01, ..plan(3) })
}

fn cnn() -> Model {
    let onnx = include_bytes!("../../../examples/digits/cnn.onnx");
    Model::from_onnx(onnx, &ImportLimits::default()).expect("the example is a valid model")
}

fn trainer(model: &Model, plan: &TrainingPlan, examples: &Examples) -> Trainer {
    let trainer = Trainer::new(model, &model.initial_weights(), plan.clone(), examples, SEED);
    trainer.expect("plan and examples fit")
}

/// Trains to the end, this many steps at a time.
fn finished(mut trainer: Trainer, steps: u64) -> TrainingOutcome {
    while !trainer.advance(steps).expect("this training does not diverge").finished {}
    trainer.finish()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Returns the norm of the difference between two deltas, relative to the norm of the expected one.
fn distance(found: &TrainingOutcome, expected: &TrainingOutcome) -> f64 {
    let norm = |values: Vec<f64>| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let pairs = found.delta.iter().zip(&expected.delta);
    let difference = pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
    norm(difference) / norm(expected.delta.iter().map(|value| f64::from(*value)).collect())
}

#[test]
fn the_same_seed_on_the_same_adapter_gives_the_same_bytes() {
    let Some(device) = gpu() else { return };
    let (model, examples, plan) = small();
    let run = |gpu: &Gpu, steps: u64| {
        let mut trainer = trainer(&model, &plan, &examples);
        trainer.use_gpu(gpu).expect("the device runs the plan");
        finished(trainer, steps)
    };
    let first = run(&device, u64::MAX);
    assert_eq!(bits(&first.delta), bits(&run(&device, 1).delta), "one submission, and one for each step");
    let Some(other) = gpu() else { return };
    assert_eq!(first, run(&other, 5), "the same adapter, opened again");
    let on_cpu = finished(trainer(&model, &plan, &examples), 1);
    assert!(distance(&first, &on_cpu) < TOLERANCE, "{}", distance(&first, &on_cpu));
    assert_eq!(first.metrics.step_count, on_cpu.metrics.step_count);
    assert_eq!(first.metrics.example_count, on_cpu.metrics.example_count);
}

#[test]
fn whatever_a_plan_asks_for() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let weights = (0..examples.len()).map(|row| (row % 3) as f32).collect();
    let weighted = examples.clone().with_weights(weights).expect("there is one for each");
    let adam: LocalOptimizer = serde_json::from_str(r#"{"adam":{"learning_rate":0.01}}"#).expect("it is one");
    let plans = [
        TrainingPlan { optimizer: adam, warmup_steps: 4, ..plan.clone() },
        TrainingPlan { gradient_clipping: Some(GradientClipping::Norm(0.5)), ..plan.clone() },
        TrainingPlan { frozen: vec!["*bias*".into()], ..plan.clone() },
        TrainingPlan { batch_size: 33, steps_max: Some(7), ..plan.clone() },
    ];
    for (plan, examples) in plans.iter().flat_map(|plan| [(plan, &examples), (plan, &weighted)]) {
        let mut on_gpu = trainer(&model, plan, examples);
        on_gpu.use_gpu(&gpu).expect("the device runs the plan");
        let (found, expected) = (finished(on_gpu, u64::MAX), finished(trainer(&model, plan, examples), 1));
        assert!(distance(&found, &expected) < TOLERANCE, "{plan:?}: {}", distance(&found, &expected));
        assert_eq!(found.metrics.correct_count, expected.metrics.correct_count);
    }
}

#[test]
fn a_checkpoint_goes_on_anywhere() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let start = model.initial_weights();
    let mut uninterrupted = trainer(&model, &plan, &examples);
    uninterrupted.use_gpu(&gpu).expect("the device runs the plan");
    let mut stopped = trainer(&model, &plan, &examples);
    stopped.use_gpu(&gpu).expect("the device runs the plan");
    stopped.advance(5).expect("it does not diverge");
    let checkpoint = stopped.checkpoint();
    let resume = || Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).expect("it is one");
    let (on_cpu, mut on_gpu) = (resume(), resume());
    assert_eq!(on_cpu.progress().step, 5);
    on_gpu.use_gpu(&gpu).expect("the device runs the plan");
    let expected = finished(uninterrupted, u64::MAX);
    assert_eq!(finished(on_gpu, u64::MAX), expected, "a stop changes no bit");
    assert!(distance(&finished(on_cpu, 1), &expected) < TOLERANCE);
}

#[test]
fn a_correction_brings_a_training_back() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let mut trainer = trainer(&model, &plan, &examples);
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    trainer.advance(3).expect("it does not diverge");
    trainer.set_gradient_correction(vec![0.01; model.parameter_count()]).expect("it fits");
    assert!(trainer.gpu().is_none() && trainer.progress().step == 3);
    trainer.use_gpu(&gpu).expect("the device runs the plan with a correction, too");
    assert_eq!(finished(trainer, 4).metrics.step_count, 12);
}

#[test]
fn a_device_that_is_lost_in_mid_epoch_costs_nothing_but_time() {
    let (Some(gpu), (model, examples, plan)) = (gpu(), small()) else { return };
    let start = model.initial_weights();
    let mut trainer = trainer(&model, &plan, &examples);
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    trainer.advance(3).expect("it does not diverge");
    let checkpoint = trainer.checkpoint();
    trainer.advance(2).expect("it does not diverge");
    gpu.destroy();
    let found = finished(trainer, 4);
    // Training continued from the last downloaded state, like training resumed on the CPU.
    let resumed = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).expect("it is one");
    assert_eq!(found, finished(resumed, 1));
    assert_eq!(found.metrics.step_count, 12, "no step is counted twice or left out");
}

#[test]
fn a_fault_says_which_adapter_and_what_to_think_of_it() {
    let (Some(gpu), (model, examples, plan)) = (gpu(), small()) else { return };
    let mut trainer = trainer(&model, &plan, &examples);
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    gpu.destroy();
    let progress = trainer.advance(1).expect("it goes on on the CPU");
    assert_eq!(progress.step, 1);
    let fault = trainer.gpu_fault().expect("the device is gone").clone();
    assert!(fault.is_adapters_fault() && fault.to_string().contains(&gpu.report().name), "{fault}");
    assert!(trainer.gpu().is_none());
    let error = trainer.use_gpu(&gpu).expect_err("it is still gone");
    assert!(matches!(error, TrainError::Gpu(GpuError::Lost { .. })), "{error}");
    assert_eq!(trainer.progress().step, 1, "the training is where it was");
}

#[test]
fn a_device_that_hangs_is_left() {
    let (Some(mut gpu), (model, examples, plan)) = (gpu(), small()) else { return };
    let mut slow = trainer(&cnn(), &TrainingPlan { epochs: 50, ..plan.clone() }, &examples);
    gpu.set_watchdog(Duration::ZERO);
    slow.use_gpu(&gpu).expect("nothing has to be waited for yet");
    slow.advance(10).expect("it goes on on the CPU");
    let fault = slow.gpu_fault().expect("nothing is done in no time").clone();
    assert!(matches!(fault, GpuError::Hung { .. }), "{fault}");
    assert_eq!(slow.progress().step, 10);
    let expected = finished(trainer(&model, &plan, &examples), 1);
    let mut after = trainer(&model, &plan, &examples);
    assert!(after.use_gpu(&gpu).is_err(), "a device that hung is not used again");
    assert_eq!(finished(after, 1), expected);
}

#[test]
fn memory_is_what_was_predicted_and_is_given_back() {
    let Some(gpu) = gpu() else { return };
    let (_, examples, plan) = small();
    let model = cnn();
    assert_eq!(gpu.allocated_bytes(), 0);
    let mut trainer = trainer(&model, &plan, &examples);
    let predicted = trainer.gpu_memory_needed(&gpu).expect("the device runs the plan");
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    let held = gpu.allocated_bytes();
    assert!(held <= predicted, "{held} bytes are held, {predicted} were predicted");
    assert_eq!(held, trainer.gpu_memory_bytes());
    for _ in 0..5 {
        trainer.advance(2).expect("it does not diverge");
        assert_eq!(gpu.allocated_bytes(), held, "a step takes no memory");
    }
    let reported = gpu.reported_bytes();
    assert_eq!(trainer.weights().len(), model.parameter_count());
    let peak = gpu.allocated_bytes_peak();
    assert!(peak <= predicted, "{peak} bytes were held at one time, {predicted} were predicted");
    drop(trainer);
    assert_eq!(gpu.allocated_bytes(), 0);
    if let (Some(before), Some(after)) = (reported, gpu.reported_bytes()) {
        assert!(after + held <= before, "the driver has {after} of {before} bytes, {held} were ours");
    }
}

#[test]
fn a_plan_that_needs_too_much_is_refused_before_memory_is_taken() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let mut on_cpu = trainer(&model, &plan, &examples);
    let needed = on_cpu.gpu_memory_needed(&gpu).expect("the device runs the plan");
    let plan = TrainingPlan { memory_bytes_max: Some(needed - 1), ..plan };
    on_cpu = trainer(&model, &plan, &examples);
    let error = on_cpu.use_gpu(&gpu).expect_err("it is too much");
    assert!(matches!(error, TrainError::Memory { .. }), "{error}");
    assert_eq!(gpu.allocated_bytes(), 0);
    on_cpu.advance(1).expect("on the CPU it is not too much");
}

#[test]
fn what_only_the_cpu_does_is_refused_with_a_reason() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let clipping = Some(GradientClipping::PerExampleNorm(1.0));
    let whole = |json: &str| -> LocalOptimizer { serde_json::from_str(json).expect("it is one") };
    let plans = [
        (TrainingPlan { gradient_clipping: clipping, ..plan.clone() }, "example by example"),
        (TrainingPlan { accumulation_steps: 2, ..plan.clone() }, "accumulate the gradients"),
        (
            TrainingPlan { sharpness_aware: Some(SharpnessAware { radius: 0.05 }), ..plan.clone() },
            "sharpness-aware",
        ),
        (
            TrainingPlan { optimizer: whole(r#"{"muon":{"learning_rate":0.001}}"#), ..plan.clone() },
            "optimizers muon",
        ),
        (
            TrainingPlan { optimizer: whole(r#"{"adafactor":{"learning_rate":0.01}}"#), ..plan },
            "optimizers muon",
        ),
    ];
    for (plan, why) in plans {
        let mut trainer = trainer(&model, &plan, &examples);
        let error = trainer.use_gpu(&gpu).expect_err("only the CPU does this");
        assert!(matches!(error, TrainError::Gpu(GpuError::Unsupported { .. })), "{error}");
        assert!(error.to_string().contains(why), "{error}");
        trainer.advance(1).expect("on the CPU it runs");
    }
}

#[test]
fn a_batch_of_all_examples_takes_the_memory_of_the_examples() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let of = |batch_size| TrainingPlan { batch_size, epochs: 1, ..plan.clone() };
    let needed = |batch_size| trainer(&model, &of(batch_size), &examples).gpu_memory_needed(&gpu).ok();
    assert_eq!(needed(1_000_000), needed(100));
    let longer = trainer(&model, &TrainingPlan { epochs: 200, ..of(100) }, &examples).gpu_memory_needed(&gpu);
    assert!(needed(100).expect("the device runs the plan") < longer.expect("the device runs the plan"));
    let mut on_gpu = trainer(&model, &of(1_000_000), &examples);
    on_gpu.use_gpu(&gpu).expect("the device runs the plan");
    let (found, expected) =
        (finished(on_gpu, u64::MAX), finished(trainer(&model, &of(1_000_000), &examples), 1));
    assert_eq!(found.metrics.step_count, 1);
    assert!(distance(&found, &expected) < TOLERANCE, "{}", distance(&found, &expected));
}

#[test]
fn a_training_that_begins_anew_leaves_the_device() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let mut restarted = trainer(&model, &plan, &examples);
    restarted.use_gpu(&gpu).expect("the device runs the plan");
    restarted.advance(3).expect("it does not diverge");
    restarted.restart(&model.initial_weights(), &examples, SEED).expect("plan and examples fit");
    assert!(restarted.gpu().is_none() && restarted.gpu_fault().is_none());
    assert_eq!(gpu.allocated_bytes(), 0);
    assert_eq!(finished(restarted, 1), finished(trainer(&model, &plan, &examples), 1));
}

#[test]
fn a_training_that_diverges_says_so() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let plan = TrainingPlan { optimizer: LocalOptimizer::sgd(1e20), proximal_term: 0.0, ..plan };
    let mut trainer = trainer(&model, &plan, &examples);
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    let error = trainer.advance(u64::MAX).expect_err("nothing good comes of this");
    assert!(matches!(error, TrainError::Diverged { .. }), "{error}");
}

#[test]
fn mixed_precision_learns_as_well() {
    let Some(gpu) = gpu() else { return };
    let (training, held_out) = digits();
    let (model, plan) = (cnn(), TrainingPlan { precision: Precision::Mixed, ..plan(2) });
    let mut mixed = trainer(&model, &plan, &training);
    if !gpu.report().half_precision {
        let error = mixed.use_gpu(&gpu).expect_err("there are no 16-bit numbers");
        assert!(error.to_string().contains("16-bit"), "{error}");
        return;
    }
    let error = mixed.step().expect_err("the CPU has no 16-bit numbers");
    assert!(matches!(error, TrainError::NoHalfPrecision), "{error}");
    mixed.use_gpu(&gpu).expect("the device has 16-bit numbers");
    mixed.advance(10).expect("it does not diverge");
    let checkpoint = mixed.checkpoint();
    let mixed = finished(mixed, u64::MAX);
    let start = model.initial_weights();
    let mut resumed =
        Trainer::resume(&model, &start, plan.clone(), &training, &checkpoint).expect("it is one");
    resumed.use_gpu(&gpu).expect("the device has 16-bit numbers");
    assert_eq!(finished(resumed, u64::MAX), mixed, "the loss scale is part of the checkpoint");
    let single =
        finished(trainer(&model, &TrainingPlan { precision: Precision::Single, ..plan }, &training), 1);
    let accuracy = |outcome: &TrainingOutcome| {
        let loss = Loss::SoftmaxCrossEntropy;
        let metrics = folkmoot_engine::evaluate(&model, &outcome.weights, &held_out, loss);
        metrics.expect("they fit").accuracy().expect("labels are classes")
    };
    let (found, expected) = (accuracy(&mixed), accuracy(&single));
    assert!(found > expected - 0.02, "{found} with 16 bits, {expected} with 32");
    assert!(distance(&mixed, &single) > 1e-6, "16 bits make a difference");
}

#[test]
fn a_mixed_training_whose_device_is_lost_is_given_up() {
    let (Some(gpu), (_, examples, plan)) = (gpu(), small()) else { return };
    if !gpu.report().half_precision {
        return;
    }
    let mut trainer = trainer(&cnn(), &TrainingPlan { precision: Precision::Mixed, ..plan }, &examples);
    trainer.use_gpu(&gpu).expect("the device has 16-bit numbers");
    gpu.destroy();
    let error = trainer.advance(1).expect_err("the CPU cannot go on");
    assert!(matches!(error, TrainError::Gpu(GpuError::Lost { .. })), "{error}");
}

/// A clock that advances by one millisecond each time it is read.
fn clock() -> impl Fn() -> Duration {
    let looked = std::cell::Cell::new(0);
    move || {
        looked.set(looked.get() + 1);
        Duration::from_millis(looked.get())
    }
}

#[test]
fn both_sides_are_measured_without_moving_the_training() {
    let Some(gpu) = gpu() else { return };
    let (model, examples, plan) = small();
    let on_cpu = trainer(&model, &plan, &examples);
    let comparison = on_cpu.compare(&gpu, &clock()).expect("the device runs the plan");
    let cpu = comparison.cpu.expect("the CPU runs the plan");
    assert!(cpu > Duration::ZERO && comparison.gpu > Duration::ZERO, "{comparison:?}");
    assert_eq!(comparison.prefers_gpu(), comparison.gpu < cpu);
    assert_eq!((on_cpu.progress().step, gpu.allocated_bytes()), (0, 0));
    if gpu.report().half_precision {
        let mixed = trainer(&model, &TrainingPlan { precision: Precision::Mixed, ..plan }, &examples);
        let comparison = mixed.compare(&gpu, &clock()).expect("the device runs the plan");
        assert!(comparison.cpu.is_none() && comparison.prefers_gpu());
    }
}

#[test]
fn an_adapter_is_tuned_and_measured() {
    let Some(mut device) = gpu() else { return };
    assert!(!device.set_tuning("no such way"));
    folkmoot_engine::block_on(device.tune(&clock())).expect("the device works");
    let (tuning, mut other) = (device.tuning(), gpu().expect("it was there before"));
    assert!(other.set_tuning(tuning), "what was found can be kept for the next time");
    let peak = folkmoot_engine::block_on(device.measure(&clock())).expect("the device works");
    assert!(peak.matmul_gflops > 0.0 && peak.bandwidth_gb_per_s > 0.0, "{peak:?}");
    assert_eq!(device.allocated_bytes(), 0);
}

#[test]
fn every_kernel_of_a_step_is_timed() {
    let Some(gpu) = gpu().filter(|gpu| gpu.report().timestamps) else { return };
    let (_, examples, plan) = small();
    let mut trainer = trainer(&cnn(), &plan, &examples);
    assert!(trainer.step_timed().is_err(), "only a device times its kernels");
    trainer.use_gpu(&gpu).expect("the device runs the plan");
    let times = trainer.step_timed().expect("it has timestamps");
    assert_eq!(trainer.progress().step, 1, "it was a step like any other");
    for name in ["gather batch", "convolution", "matrix product", "update"] {
        assert!(times.iter().any(|time| time.name == name), "{name} is missing in {times:?}");
    }
    assert!(times.iter().map(|time| time.nanoseconds).sum::<f64>() > 0.0);
    assert!(times.iter().map(|time| time.flops).sum::<u64>() > 1_000_000);
}

#[test]
fn an_adapter_that_is_not_there_is_named_with_those_that_are() {
    let Some(gpu) = gpu() else { return };
    let Err(error) = Gpu::find(Some("no such adapter")) else { panic!("it was found") };
    assert!(error.to_string().contains(&gpu.report().name), "{error}");
}
