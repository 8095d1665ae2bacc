//! Augmentation in a training: it resumes bit for bit, is the same on a GPU, and is refused where it does not fit. Unit
//! tests check the changed examples.

use folkmoot_engine::{
    Augmentation, Examples, FitError, ImportLimits, Labels, LocalOptimizer, Loss, Model, StretchMask,
    TrainError, Trainer, TrainingOutcome, TrainingPlan,
};

use crate::digits_example::{digits, model, plan};

const SEED: u64 = 5;
const ROWS: usize = 24;

fn some_digits() -> Examples {
    let (training, _) = digits();
    training.subset(&(0..ROWS).collect::<Vec<_>>()).expect("the indices are those of rows")
}

fn cnn() -> Model {
    let onnx = include_bytes!("../../../examples/digits/cnn.onnx");
    Model::from_onnx(onnx, &ImportLimits::default()).expect("the example is a valid model")
}

fn augmented(augmentation: Augmentation) -> TrainingPlan {
    TrainingPlan { augmentation: Some(Box::new(augmentation)), batch_size: ROWS as u32, ..plan(2) }
}

fn everything() -> Augmentation {
    Augmentation {
        noise: 0.5,
        shape: vec![1, 8, 8],
        cutout: Some(3),
        stretch_masks: vec![StretchMask { axis: 2, count: 1, length_max: 2 }],
        mixup: Some(0.4),
    }
}

fn trainer(model: &Model, plan: &TrainingPlan, examples: &Examples) -> Result<Trainer, TrainError> {
    Trainer::new(model, &model.initial_weights(), plan.clone(), examples, SEED)
}

fn finished(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

#[test]
fn a_stop_and_a_restart_change_no_bit() {
    let (model, examples) = (cnn(), some_digits());
    for (batch_size, accumulation_steps) in [(ROWS as u32, 1), (7, 1), (5, 2)] {
        let plan = TrainingPlan { batch_size, accumulation_steps, ..augmented(everything()) };
        let expected = finished(trainer(&model, &plan, &examples).unwrap());
        let mut stopped = trainer(&model, &plan, &examples).unwrap();
        while !stopped.step().unwrap().finished {
            let checkpoint = stopped.checkpoint();
            let start = model.initial_weights();
            stopped = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
        }
        assert_eq!(stopped.outcome(), expected);
        stopped.restart(&model.initial_weights(), &examples, SEED).unwrap();
        assert_eq!(finished(stopped), expected);
        let other = Trainer::new(&model, &model.initial_weights(), plan, &examples, SEED + 1).unwrap();
        assert_ne!(finished(other).delta, expected.delta);
    }
}

#[test]
fn parts_of_a_step_are_changed_as_the_whole() {
    let (model, examples) = (cnn(), some_digits());
    let whole = finished(trainer(&model, &augmented(everything()), &examples).unwrap());
    let plan = TrainingPlan { batch_size: 6, accumulation_steps: 4, ..augmented(everything()) };
    let parts = finished(trainer(&model, &plan, &examples).unwrap());
    let distance = whole.delta.iter().zip(&parts.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < 1e-5, "{distance}");
    let plain = TrainingPlan { augmentation: None, ..augmented(everything()) };
    assert_ne!(finished(trainer(&model, &plain, &examples).unwrap()).delta, whole.delta);
    let nothing = augmented(Augmentation::default());
    let plain = finished(trainer(&model, &plain, &examples).unwrap());
    assert_eq!(finished(trainer(&model, &nothing, &examples).unwrap()), plain);
}

#[test]
fn a_step_takes_no_memory_that_was_not_announced() {
    let mut trainer = trainer(&cnn(), &augmented(everything()), &some_digits()).unwrap();
    let held = trainer.memory_bytes();
    trainer.step().unwrap();
    assert_eq!(trainer.memory_bytes(), held);
}

#[test]
fn what_does_not_fit_the_model_is_refused() {
    let refused = |model: &Model, augmentation: Augmentation| match trainer(
        model,
        &augmented(augmentation),
        &some_digits(),
    ) {
        Err(TrainError::Fit(error @ FitError::Augmentation { .. })) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => "none".into(),
    };
    let flat = refused(&model(), Augmentation { cutout: Some(3), ..Augmentation::default() });
    assert!(
        flat.contains("augmentation.cutout")
            && flat.contains("[64]")
            && flat.contains("Give augmentation.shape"),
        "{flat}"
    );
    let stretch_masks = vec![StretchMask { axis: 1, count: 1, length_max: 2 }];
    let masks = Augmentation { stretch_masks, ..Augmentation::default() };
    let flat = refused(&model(), masks.clone());
    assert!(flat.contains("no axis 1") && flat.contains("below 1"), "{flat}");
    let masks = Augmentation { shape: vec![8, 8], ..masks };
    assert_eq!(refused(&model(), masks.clone()), "none");
    let wrong = refused(&model(), Augmentation { shape: vec![8, 9], ..masks });
    assert!(wrong.contains("augmentation.shape") && wrong.contains("[64]"), "{wrong}");
}

/// The targets of a regression are mixed as they are.
#[test]
fn mixup_mixes_targets_of_a_regression() {
    let examples = some_digits();
    let Labels::Classes(classes) = examples.labels() else { panic!("digits are classes") };
    let targets =
        classes.iter().flat_map(|class| (0..10).map(|k| f32::from(u8::from(k == *class)))).collect();
    // All features are equal, so only the targets can make a difference.
    let features = vec![0.5; examples.features().len()];
    let examples = Examples::new(features, vec![64], Labels::Targets(targets, 10)).unwrap();
    let optimizer = LocalOptimizer::sgd(0.1);
    let mixed = Augmentation { mixup: Some(1.0), ..Augmentation::default() };
    let plan = TrainingPlan {
        augmentation: Some(Box::new(mixed)),
        ..TrainingPlan::new(Loss::MeanSquaredError, optimizer)
    };
    let (found, plain) = (plan.clone(), TrainingPlan { augmentation: None, ..plan });
    let [found, plain] = [found, plain].map(|plan| finished(trainer(&model(), &plan, &examples).unwrap()));
    assert!(found.delta != plain.delta && found.metrics.example_count == plain.metrics.example_count);
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_sees_the_same_examples() {
    let Some(gpu) = crate::adapter::gpu() else { return };
    let (model, examples) = (cnn(), some_digits());
    let weights = (0..ROWS).map(|row| 1.0 + (row % 3) as f32).collect();
    let weighted = examples.clone().with_weights(weights).expect("there is one for each");
    for (examples, batch_size) in [(&examples, 24), (&examples, 7), (&weighted, 7), (&weighted, 12)] {
        let plan = TrainingPlan { batch_size, ..augmented(everything()) };
        let expected = finished(trainer(&model, &plan, examples).unwrap());
        let mut on_gpu = trainer(&model, &plan, examples).unwrap();
        on_gpu.use_gpu(&gpu).expect("the device runs the plan");
        on_gpu.advance(u64::MAX).expect("it does not diverge");
        assert_eq!(on_gpu.gpu_fault(), None);
        let found = on_gpu.finish();
        let norm = |values: &[f32]| values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let difference: Vec<f32> = found.delta.iter().zip(&expected.delta).map(|(a, b)| a - b).collect();
        assert!(norm(&difference) < 1e-4 * norm(&expected.delta), "{batch_size}: {}", norm(&difference));
    }
}
