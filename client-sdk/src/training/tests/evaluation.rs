//! Evaluations: their metrics, their updates, and their ends.

use std::sync::{Arc, Mutex, atomic::Ordering};

use folkmoot_engine::{Evaluation, Examples, Metrics, evaluate, evaluate_in_detail};
use folkmoot_protocol::{
    DeviceCondition, DeviceRule, FineTuning, LocalNoise, Loss,
    messages::AbortReason,
    update::{
        HEADER_BYTES, UpdateHeader,
        sums::{FineTuned, MetricSums},
    },
};
use folkmoot_training::fine_tuned_weights;
use folkmoot_work::WorkError;

use super::scene::{Scene, examples};
use crate::{
    OverBudget,
    training::{WorkNews, prepare, work},
};

/// Evaluates, and returns the reported progress.
fn told(scene: &Scene) -> Vec<(Metrics, u64)> {
    let heard = Mutex::new(Vec::new());
    let done = work(&scene.local, |news| match news {
        WorkNews::Evaluated { metrics, examples_total } => {
            heard.lock().unwrap().push((metrics, examples_total));
        }
        _ => panic!("an evaluation neither trains nor needs a device"),
    });
    let done = done.unwrap().expect("nobody stopped it");
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard.last(), Some(&(done.outcome.metrics, done.held_example_count)));
    heard
}

/// Returns the examples of the client.
fn held(scene: &Scene) -> Examples {
    scene.local.examples.examples(None).unwrap()
}

fn refused(scene: &Scene) -> WorkError {
    work(&scene.local, |_| {}).unwrap_err()
}

#[test]
fn an_evaluation_sends_the_engines_sums_and_no_values() {
    let scene = Scene::of_evaluation(1000);
    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    let start = scene.model.initial_weights();
    let expected = evaluate(&scene.model, &start, &held(&scene), Loss::SoftmaxCrossEntropy).unwrap();
    assert_eq!(done.outcome.metrics, expected, "the batches are the engine's, so every bit is the same");
    assert_eq!((expected.example_count, expected.step_count), (1000, 0));

    let prepared = prepare(&done, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(done.assignment.assignment_id)).unwrap();
    assert_eq!((bytes.len(), prepared.length), (HEADER_BYTES, HEADER_BYTES as u64));
    let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    assert_eq!((header.element_count, header.weight, header.base_version), (0, 1000, 2));
    assert_eq!(header.schema_digest, scene.plan.schema.digest());
    assert_eq!(header.metrics.loss_sum.to_bits(), expected.loss_sum.to_bits());
    assert_eq!(header.metrics.correct_count, expected.correct_count);
}

/// Evaluates and prepares the update. Returns its bytes after the header.
fn sums_of(scene: &Scene) -> Vec<u8> {
    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    prepare(&done, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(done.assignment.assignment_id)).unwrap();
    bytes[HEADER_BYTES..].to_vec()
}

#[test]
fn sums_of_every_metric_are_sent_if_the_assignment_asks() {
    let mut scene = Scene::of_evaluation(1000);
    scene.local.assignment.metric_sums = true;
    let start = scene.model.initial_weights();
    let loss = Loss::SoftmaxCrossEntropy;
    let expected = evaluate_in_detail(&scene.model, &start, &held(&scene), loss).unwrap();
    let sums = MetricSums::decode(&sums_of(&scene)).unwrap();
    assert_eq!(Some(&sums), expected.sums().as_ref(), "several batches add up to all examples");
    assert_eq!(Evaluation::of_sums(loss, expected.metrics, &sums), Some(expected));
}

#[test]
fn a_plan_with_local_noise_keeps_the_sums_on_the_device() {
    let mut scene = Scene::of(10, |plan| {
        plan.work = folkmoot_protocol::Work::Evaluation;
        plan.local_noise = Some(LocalNoise { clipping_norm: 1 << 20, scale: 1 << 20 });
    });
    // A hostile coordinator asks for the metrics nevertheless.
    scene.local.assignment.metric_sums = true;
    assert!(sums_of(&scene).is_empty());
}

#[test]
fn the_weight_of_an_evaluation_is_capped_by_the_plan() {
    let mut scene = Scene::of_evaluation(10);
    scene.local.examples = Arc::new(examples(20_000));
    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    prepare(&done, &scene.local.work).unwrap();
    let bytes = std::fs::read(scene.local.work.update_path(done.assignment.assignment_id)).unwrap();
    let header = UpdateHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    assert_eq!((header.weight, header.metrics.example_count), (scene.plan.grid.weight_max, 20_000));
}

#[test]
fn progress_is_told_from_the_first_example_to_the_last() {
    let counts = |count| told(&Scene::of_evaluation(count)).into_iter().map(|(told, _)| told.example_count);
    // The clock advances by a second at each reading.
    assert!(counts(600).eq([0, 256, 512, 600]));
    assert!(counts(1).eq([0, 1]));
}

#[test]
fn a_stop_ends_an_evaluation_after_the_batch_under_way() {
    let scene = Scene::of_evaluation(10_000);
    let last = Mutex::new(0);
    let done = work(&scene.local, |news| {
        let WorkNews::Evaluated { metrics, .. } = news else { panic!("it does not train") };
        *last.lock().unwrap() = metrics.example_count;
        if metrics.example_count == 512 {
            scene.local.stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(done.unwrap().is_none());
    assert_eq!(last.into_inner().unwrap(), 512);
}

#[test]
fn what_cannot_be_measured_is_given_up() {
    let mut scene = Scene::of_evaluation(10);
    scene.local.examples = Arc::new(examples(0));
    let error = refused(&scene);
    assert_eq!((error.reason, error.detail.as_str()), (AbortReason::TrainingFailed, "there are no examples"));

    let scene = Scene::of(10, |plan| {
        plan.work = folkmoot_protocol::Work::Evaluation;
        plan.training.loss = Loss::Huber { delta: -1.0 };
    });
    assert_eq!(refused(&scene).reason, AbortReason::PlanUnsupported);

    let scene = Scene::of(10, |plan| {
        plan.work = folkmoot_protocol::Work::Evaluation;
        plan.training.loss = Loss::MeanSquaredError;
    });
    let error = refused(&scene);
    assert_eq!(error.reason, AbortReason::TrainingFailed);
    assert!(error.detail.contains("do not fit"), "{}", error.detail);
}

#[test]
fn work_whose_rules_no_longer_hold_is_declined() {
    let scene = Scene::of(10, |plan| {
        let condition = DeviceCondition::Equals("yes".into());
        plan.device_rules = vec![DeviceRule { attribute: "charges".into(), condition }];
    });
    let error = refused(&scene);
    assert_eq!((error.reason, error.detail.as_str()), (AbortReason::Declined, ""));
}

#[test]
fn an_evaluation_that_takes_too_long_is_given_up_without_a_word() {
    let mut scene = Scene::of_evaluation(1000);
    // The clock advances by a second at each reading, and a batch has 256 examples.
    scene.local.budget.training_seconds_max = 2;
    let error = refused(&scene);
    assert_eq!((error.reason, error.detail.as_str()), (AbortReason::Declined, ""));
    assert_eq!(error.over_budget, Some(OverBudget::Evaluation { max: 2 }));
    scene.local.budget.training_seconds_max = 100;
    assert!(work(&scene.local, |_| {}).unwrap().is_some());
}

const TUNING: FineTuning = FineTuning { epochs: 3, learning_rate: 0.5, held_out_share: 0.25 };

#[test]
fn a_fine_tuning_is_measured_on_held_out_examples_and_dropped() {
    let mut scene = Scene::of(40, |plan| {
        plan.work = folkmoot_protocol::Work::Evaluation;
        plan.fine_tuning = Some(TUNING);
        // These settings for the rounds of a task have no effect.
        plan.training.proximal_term = 5.0;
        plan.training.steps_max = Some(1);
    });
    scene.local.assignment.metric_sums = true;
    let (all, start, loss) = (held(&scene), scene.model.initial_weights(), Loss::SoftmaxCrossEntropy);
    let [trained, held_out] = TUNING.divide(40).unwrap().map(|rows| all.subset(&rows).unwrap());
    let plan = &scene.plan.training;
    let (tuned, steps) = fine_tuned_weights(&scene.model, &TUNING, plan, &start, &trained).unwrap();
    assert_eq!(steps, 3 * 15, "30 examples in batches of 2");
    let [before, after] =
        [&start, &tuned].map(|weights| evaluate_in_detail(&scene.model, weights, &held_out, loss).unwrap());
    assert_ne!(before.metrics.loss_sum, after.metrics.loss_sum);

    let done = work(&scene.local, |_| {}).unwrap().expect("nobody stopped it");
    assert_eq!((done.outcome.metrics, done.own), (before.metrics, None));
    assert!(done.outcome.delta.is_empty() && done.outcome.weights.is_empty(), "nothing is kept or sent");
    let sent = FineTuned::decode(&sums_of(&scene)).unwrap();
    assert_eq!((sent.metrics.example_count, sent.metrics.step_count), (10, 45));
    assert_eq!(sent.metrics.loss_sum.to_bits(), after.metrics.loss_sum.to_bits());
    assert_eq!(sent.sums, before.sums().zip(after.sums()).map(|(before, after)| [before, after]));
}

#[test]
fn a_fine_tuning_that_cannot_be_measured_is_given_up() {
    let with = |count, tuning, noise| {
        Scene::of(count, |plan| {
            plan.work = folkmoot_protocol::Work::Evaluation;
            plan.fine_tuning = Some(tuning);
            plan.local_noise = noise;
        })
    };
    let few = refused(&with(1, TUNING, None));
    assert!(few.reason == AbortReason::TrainingFailed && few.detail.contains("at least 2"), "{}", few.detail);
    let epochs = refused(&with(10, FineTuning { epochs: 0, ..TUNING }, None));
    assert_eq!(
        (epochs.reason, &*epochs.detail),
        (AbortReason::PlanUnsupported, "fine_tuning.epochs is 0; it must be 1 to 1000")
    );
    let noise = LocalNoise { clipping_norm: 1 << 20, scale: 1 << 20 };
    assert_eq!(refused(&with(10, TUNING, Some(noise))).reason, AbortReason::PlanUnsupported);
    let diverged = refused(&with(10, FineTuning { epochs: 1000, learning_rate: 1e38, ..TUNING }, None));
    assert_eq!(diverged.reason, AbortReason::TrainingFailed, "{}", diverged.detail);

    let scene = with(100, FineTuning { epochs: 100, ..TUNING }, None);
    let heard = Mutex::new(0);
    let stopped = work(&scene.local, |_| {
        *heard.lock().unwrap() += 1;
        if *heard.lock().unwrap() == 3 {
            scene.local.stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(stopped.unwrap().is_none(), "a stop is noticed between the steps of a fine-tuning");
}
