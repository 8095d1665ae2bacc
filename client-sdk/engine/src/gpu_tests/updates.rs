//! Optimizers, clipping and other parts of the weight update, over whole training runs.

use super::optimizers::optimizers;
use super::{Tolerance, gpu, numbers};
use crate::onnx;
use crate::{Examples, Gpu, GradientClipping, ImportLimits, Labels, Loss, Model, Trainer, TrainingPlan};

const WEIGHTS: usize = 333;

/// Returns the weights after some steps on the CPU and on the GPU.
fn trained(gpu: &Gpu, plan: &TrainingPlan, correction: Option<&[f32]>) -> [Vec<f32>; 2] {
    let model = Model::from_onnx(&onnx::build::single_tensor(WEIGHTS), &ImportLimits::default());
    let model = model.expect("built models import");
    let labels = Labels::Targets(numbers(12 * WEIGHTS, 1), WEIGHTS);
    let examples = Examples::new(numbers(12, 2), vec![1], labels).expect("the lengths fit");
    [false, true].map(|on_gpu| {
        let start = numbers(WEIGHTS, 3);
        let trainer = Trainer::new(&model, &start, plan.clone(), &examples, 5);
        let mut trainer = trainer.expect("plan and examples fit");
        if let Some(correction) = correction {
            trainer.set_gradient_correction(correction.to_vec()).expect("it fits");
        }
        if on_gpu {
            trainer.use_gpu(gpu).expect("the device runs this plan");
        }
        trainer.advance(u64::MAX).expect("this training does not diverge");
        assert_eq!(trainer.gpu_fault().map(ToString::to_string), None);
        trainer.weights().to_vec()
    })
}

#[test]
fn every_optimizer_with_every_adjustment() {
    let Some(gpu) = gpu() else { return };
    let correction = numbers(WEIGHTS, 4);
    for optimizer in optimizers() {
        let plan = TrainingPlan::new(Loss::MeanSquaredError, optimizer);
        let plan = TrainingPlan { epochs: 2, batch_size: 4, ..plan };
        let clipped = |clipping| TrainingPlan { gradient_clipping: Some(clipping), ..plan.clone() };
        let cases = [
            (plan.clone(), None),
            (clipped(GradientClipping::Norm(0.05)), None),
            (clipped(GradientClipping::Norm(1e9)), None),
            (TrainingPlan { proximal_term: 0.3, ..clipped(GradientClipping::Value(0.002)) }, None),
            (
                TrainingPlan { proximal_term: 0.3, ..clipped(GradientClipping::Norm(0.05)) },
                Some(&correction[..]),
            ),
        ];
        for (plan, correction) in cases {
            println!("{optimizer:?} {:?}", plan.gradient_clipping);
            let [expected, found] = trained(gpu, &plan, correction);
            Tolerance { relative: 1e-4, absolute: 0.0 }.check(&found, &expected);
        }
    }
}
