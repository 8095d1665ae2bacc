//! A curriculum and the selection of small losses: which examples a step trains on, and that a stopped training resumes
//! bit for bit.

#[cfg(feature = "gpu")]
use folkmoot_engine::L1;
use folkmoot_engine::{
    Curriculum, Examples, Labels, SmallLossSelection, TrainError, Trainer, TrainingOutcome, TrainingPlan,
    evaluate,
};

use crate::digits_example::{digits, model, plan};

const SEED: u64 = 3;
const ROWS: usize = 40;

fn some_digits() -> Examples {
    digits().0.subset(&(0..ROWS).collect::<Vec<_>>()).expect("the indices are those of rows")
}

fn trainer(plan: &TrainingPlan, examples: &Examples) -> Result<Trainer, TrainError> {
    let model = model();
    Trainer::new(&model, &model.initial_weights(), plan.clone(), examples, SEED)
}

fn finished(mut trainer: Trainer) -> TrainingOutcome {
    while !trainer.step().expect("this training does not diverge").finished {}
    trainer.finish()
}

/// Returns the examples from easy to hard at these weights, measured one by one.
fn ranking(weights: &[f32], examples: &Examples) -> Vec<usize> {
    let loss = |row: usize| {
        let one = examples.subset(&[row]).expect("it exists");
        evaluate(&model(), weights, &one, plan(1).loss).expect("they fit").loss_sum
    };
    let mut rows: Vec<usize> = (0..examples.len()).collect();
    rows.sort_by(|one, other| loss(*one).total_cmp(&loss(*other)));
    rows
}

/// The pool has as many examples as a step, so each of the two steps trains on the whole pool.
#[test]
fn a_curriculum_begins_with_the_easiest_examples() {
    let examples = some_digits();
    let curriculum = Some(Curriculum { first_share: 0.25, steps: u32::MAX });
    let plan = TrainingPlan { curriculum, batch_size: 10, steps_max: Some(2), ..plan(1) };
    let found = finished(trainer(&plan, &examples).unwrap());
    let mut easy = ranking(&model().initial_weights(), &examples)[..10].to_vec();
    easy.sort_unstable();
    let plain = TrainingPlan { curriculum: None, epochs: 2, ..plan };
    let expected = finished(trainer(&plain, &examples.subset(&easy).unwrap()).unwrap());
    let distance = found.delta.iter().zip(&expected.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < 1e-6, "{distance}");
}

#[test]
fn small_losses_are_those_of_the_weights_of_the_step() {
    let (examples, model) = (some_digits(), model());
    let small_loss_selection = Some(SmallLossSelection { forget_rate: 0.3, steps: 2 });
    let plan = TrainingPlan { small_loss_selection, batch_size: ROWS as u32, ..plan(3) };
    let mut found = trainer(&plan, &examples).unwrap();
    let plain = TrainingPlan { small_loss_selection: None, ..plan.clone() };
    let mut expected = trainer(&plain, &examples).unwrap();
    for kept in [40, 34, 28] {
        let mut rows = ranking(expected.weights(), &examples)[..kept].to_vec();
        rows.sort_unstable();
        expected.step_on(&rows).unwrap();
        // The order of the examples differs, and so does rounding.
        found.step().unwrap();
    }
    assert_eq!(found.metrics().example_count, 40 + 34 + 28);
    let distance =
        found.weights().iter().zip(expected.weights()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < 1e-5, "{distance}");
    let whole = finished(Trainer::new(&model, &model.initial_weights(), plain, &examples, SEED).unwrap());
    assert_ne!(whole.weights, found.finish().weights);
}

/// A third of the labels is wrong. The selection leaves out mostly examples with wrong labels.
#[test]
fn wrong_labels_are_left_out() {
    let (training, held_out) = digits();
    let Labels::Classes(classes) = training.labels() else { panic!("digits are classes") };
    let wrong = classes.iter().enumerate();
    let wrong =
        wrong.map(|(row, class)| if row % 3 == 0 { (class + 1 + row as u32 % 9) % 10 } else { *class });
    let labels = Labels::Classes(wrong.collect());
    let noisy = Examples::new(training.features().to_vec(), vec![64], labels).unwrap();
    let correct = |small_loss_selection| {
        let plan = TrainingPlan { small_loss_selection, ..plan(12) };
        let weights = finished(trainer(&plan, &noisy).unwrap()).weights;
        evaluate(&model(), &weights, &held_out, plan.loss).unwrap().correct_count
    };
    let selection = SmallLossSelection { forget_rate: 0.35, steps: 100 };
    let [selected, plain] = [correct(Some(selection)), correct(None)];
    assert!(selected > plain + 10, "{selected} of {} correct, {plain} without", held_out.len());
}

#[test]
fn they_resume_and_restart_bit_exactly() {
    let (model, examples) = (model(), some_digits());
    let start = model.initial_weights();
    for (batch_size, accumulation_steps) in [(7, 1), (4, 3)] {
        let plan = TrainingPlan {
            curriculum: Some(Curriculum { first_share: 0.3, steps: 6 }),
            small_loss_selection: Some(SmallLossSelection { forget_rate: 0.3, steps: 4 }),
            batch_size,
            accumulation_steps,
            ..plan(3)
        };
        let expected = finished(trainer(&plan, &examples).unwrap());
        let mut stopped = trainer(&plan, &examples).unwrap();
        while !stopped.step().unwrap().finished {
            let checkpoint = stopped.checkpoint();
            stopped = Trainer::resume(&model, &start, plan.clone(), &examples, &checkpoint).unwrap();
        }
        assert_eq!(stopped.outcome(), expected);
        let other = digits().0.subset(&(50..90).collect::<Vec<_>>()).unwrap();
        stopped.restart(&start, &other, SEED + 1).unwrap();
        finished_again(&mut stopped);
        stopped.restart(&start, &examples, SEED).unwrap();
        assert_eq!(finished(stopped), expected);
    }
}

fn finished_again(trainer: &mut Trainer) {
    while !trainer.step().expect("this training does not diverge").finished {}
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_follows_a_curriculum() {
    let Some(gpu) = crate::adapter::gpu() else { return };
    let examples = some_digits();
    let curriculum = Some(Curriculum { first_share: 0.3, steps: 6 });
    let plan = TrainingPlan { curriculum, batch_size: 7, ..plan(3) };
    let expected = finished(trainer(&plan, &examples).unwrap());
    let mut on_gpu = trainer(&plan, &examples).unwrap();
    on_gpu.use_gpu(&gpu).expect("the device runs the plan");
    on_gpu.advance(u64::MAX).expect("it does not diverge");
    let found = on_gpu.finish();
    let distance = found.delta.iter().zip(&expected.delta).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < 1e-4, "{distance}");
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_refuses_what_only_the_cpu_does() {
    let Some(gpu) = crate::adapter::gpu() else { return };
    let l1 = Some(L1 { strength: 0.1, tensors: vec!["*".into()] });
    let small_loss_selection = Some(SmallLossSelection { forget_rate: 0.1, steps: 0 });
    for (plan, why) in [
        (TrainingPlan { l1: l1.map(Box::new), ..plan(1) }, "l1 and value_range"),
        (TrainingPlan { small_loss_selection, ..plan(1) }, "by their losses"),
    ] {
        let mut trainer = trainer(&plan, &some_digits()).unwrap();
        let error = trainer.use_gpu(&gpu).expect_err("only the CPU does this").to_string();
        assert!(error.contains(why), "{error}");
        trainer.step().unwrap();
    }
}
