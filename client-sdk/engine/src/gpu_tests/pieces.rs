//! Weights that are too large for a single binding.

use super::{gpu, numbers};
use crate::{Examples, Gpu, ImportLimits, Labels, LocalOptimizer, Loss, Model, Trainer, TrainingPlan};

#[test]
fn weights_are_updated_in_pieces() {
    let Some(gpu) = gpu() else { return };
    let model = Model::from_onnx(&folkmoot_onnx::build::single_tensor(3000), &ImportLimits::default());
    let model = model.expect("built models import");
    let labels = Labels::Targets(numbers(3000, 1), 3000);
    let examples = Examples::new(numbers(1, 2), vec![1], labels).expect("the lengths fit");
    let adam: LocalOptimizer = serde_json::from_str(r#"{"adam":{"learning_rate":0.1}}"#).expect("it is one");
    let plan = TrainingPlan { epochs: 9, batch_size: 1, ..TrainingPlan::new(Loss::MeanSquaredError, adam) };
    let train = |gpu: &Gpu| {
        let trainer = Trainer::new(&model, &numbers(3000, 3), plan.clone(), &examples, 5);
        let mut trainer = trainer.expect("plan and examples fit");
        trainer.use_gpu(gpu).expect("the device runs this plan");
        trainer.advance(u64::MAX).expect("it does not diverge");
        trainer.finish()
    };
    assert_eq!(train(&gpu.with_bindings_of(8192)), train(gpu), "pieces change no bit");
}
