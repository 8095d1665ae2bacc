//! The memory of a step: known in advance, close to the lower bound, and limited by the plan.

use std::fs;
use std::path::Path;

use folkmoot_engine::{
    Examples, ImportLimits, Inspection, Labels, LocalOptimizer, Loss, Model, TrainError, Trainer,
    TrainingPlan, onnx,
};

/// The maximum ratio of a step's memory to the sum of weights, gradients, optimizer state and live activations.
const RATIO_MAX: f64 = 1.3;
/// Models that need fewer bytes are not measured: the tiles of fused loops dominate their memory.
const BYTES_MIN: usize = 128 * 1024;

fn plan(loss: Loss, batch_size: u32) -> TrainingPlan {
    let optimizer = LocalOptimizer::Adam {
        learning_rate: 0.001,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.0,
    };
    TrainingPlan { batch_size, ..TrainingPlan::new(loss, optimizer) }
}

fn check(name: &str, model: &Model) {
    let loss = match model.output_shape() {
        [1] | [64] => Loss::MeanSquaredError,
        _ => Loss::SoftmaxCrossEntropy,
    };
    let memory = Inspection::new(model, &plan(loss, 32)).expect("the loss goes with the model").memory;
    let ratio = memory.total() as f64 / memory.indispensable() as f64;
    println!("{name}: {} bytes, {ratio:.3} times what is indispensable; {memory:?}", memory.total());
    assert!(memory.total() < BYTES_MIN || ratio <= RATIO_MAX, "{name}: {ratio}");
}

#[test]
fn a_step_holds_little_more_than_it_must() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            let model = Model::from_onnx(&fs::read(&path).unwrap(), &ImportLimits::default()).unwrap();
            check(&path.file_stem().unwrap().to_string_lossy(), &model);
            seen += 1;
        }
    }
    assert!(seen >= 11, "{seen} models");
    check(
        "2NN",
        &Model::from_onnx(&onnx::build::mlp(&[784, 200, 200, 10], 1), &ImportLimits::default()).unwrap(),
    );
    let cnn = onnx::build::federated_averaging_cnn(1);
    check("FedAvg CNN", &Model::from_onnx(&cnn, &ImportLimits::default()).unwrap());
}

#[test]
fn what_is_announced_is_what_a_training_holds() {
    let model =
        Model::from_onnx(&onnx::build::mlp(&[784, 200, 200, 10], 1), &ImportLimits::default()).unwrap();
    let plan = plan(Loss::SoftmaxCrossEntropy, 32);
    let announced = Inspection::new(&model, &plan).unwrap().memory.total();
    let examples = Examples::new(vec![0.5; 64 * 784], vec![784], Labels::Classes(vec![1; 64])).unwrap();
    let mut trainer = Trainer::new(&model, &model.initial_weights(), plan.clone(), &examples, 1).unwrap();
    assert_eq!(trainer.memory_bytes(), announced);
    trainer.step().unwrap();
    assert_eq!(trainer.memory_bytes(), announced, "a step takes nothing more");

    let limited = TrainingPlan { memory_bytes_max: Some(announced as u64 - 1), ..plan };
    let error = Trainer::new(&model, &model.initial_weights(), limited, &examples, 1).err().unwrap();
    assert!(matches!(error, TrainError::Memory { needed, .. } if needed == announced as u64), "{error}");
}
