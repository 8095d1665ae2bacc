//! The app limits the memory and the graph of its work. A plan may lower these limits but not raise them.

use folkmoot_engine::onnx::build::mlp;
use folkmoot_protocol::{Widths, Work, messages::AbortReason};

use super::scene::Scene;
use crate::{Budget, OverBudget, training::work};

fn scene(kind: Work, memory_bytes_max: u64) -> Scene {
    let mut scene = Scene::of(10, |plan| {
        plan.work = kind;
        plan.training.memory_bytes_max = Some(u64::MAX);
    });
    scene.local.budget = Budget { memory_bytes_max, ..Budget::default() };
    scene
}

#[test]
fn work_that_needs_more_than_the_app_allows_is_refused_before_its_memory_is_taken() {
    for kind in [Work::Training, Work::Evaluation] {
        let enough = scene(kind, 1 << 20);
        let Scene { local, .. } = &enough;
        let fetched = local.assignment.model.bytes + local.assignment.weights.bytes;
        let measured = work(local, |_| {}).expect("a megabyte is enough").expect("it is not stopped");
        let little = work(&scene(kind, fetched + 20).local, |_| {});
        if kind == Work::Evaluation {
            // With little memory, an evaluation measures fewer examples at a time.
            let metrics = little.expect("one example fits").expect("it is not stopped").outcome.metrics;
            assert_eq!(metrics.correct_count, measured.outcome.metrics.correct_count);
            continue;
        }
        let error = little.expect_err("20 bytes are too few");
        assert_eq!(error.reason, AbortReason::PlanUnsupported);
        assert!(error.detail.contains("bytes of memory"), "{}", error.detail);
    }
}

#[test]
fn files_that_are_larger_than_the_memory_are_not_read() {
    let scene = scene(Work::Training, 100);
    let error = work(&scene.local, |_| {}).expect_err("the model alone has more bytes");
    assert_eq!((error.reason, error.detail.as_str()), (AbortReason::Declined, ""));
    assert!(matches!(error.over_budget, Some(OverBudget::MemoryBytes { max: 100, .. })), "{error:?}");
}

#[test]
fn a_small_file_that_wants_a_gigabyte_is_refused_under_the_apps_own_limit() {
    let onnx = mlp(&[2, 3400, 2], 1);
    assert!(onnx.len() < 70_000, "{} bytes", onnx.len());
    for (batch_size, memory_bytes_max) in [(75_000, 512 << 20), (20_000, 64 << 20)] {
        let examples = batch_size as usize;
        let mut scene = Scene::of_model(onnx.clone(), examples, |plan| plan.training.batch_size = batch_size);
        scene.local.budget = Budget { memory_bytes_max, ..Budget::default() };
        let Err(refused) = work(&scene.local, |_| {}) else { panic!("it needs more") };
        assert_eq!(refused.reason, AbortReason::PlanUnsupported);
        let words = format!("the plan allows {memory_bytes_max}");
        assert!(refused.detail.contains(&words), "{}", refused.detail);
    }
}

#[test]
fn a_graph_with_too_many_operations_or_parameters_is_refused_when_it_is_read() {
    let cases = [
        (Budget { operations_max: 1, ..Budget::default() }, "the limit is 1"),
        (Budget { parameters_max: 22, ..Budget::default() }, "the model has 23 parameters; the limit is 22"),
    ];
    for (budget, words) in cases {
        // The frozen layer is not part of the plan's schema.
        let mut scene = Scene::of_model(mlp(&[2, 3, 2, 2], 1), 10, |plan| {
            plan.training.frozen = vec!["layer_1.*".into()];
        });
        scene.local.budget = budget;
        let error = work(&scene.local, |_| {}).expect_err("it is too large");
        assert_eq!(error.reason, AbortReason::PlanUnsupported);
        assert!(error.detail.contains(words), "{}", error.detail);
    }
}

/// The whole model has 4,503 parameters, and half of the width 2,253.
#[test]
fn a_device_without_memory_for_the_whole_model_trains_a_narrow_one() {
    let share_of = |memory_bytes_max| {
        let mut scene = Scene::of_model(mlp(&[2, 900, 3], 1), 10, |plan| {
            plan.training.widths = Some(Box::new(Widths { ratios: vec![1.0, 0.5], sampled: false }));
        });
        scene.local.budget = Budget { memory_bytes_max, ..Budget::default() };
        let work = work(&scene.local, |_| {}).expect("it fits").expect("it is not stopped");
        let delta = work.outcome.delta;
        assert_eq!(delta.len(), 2 + 900 * 2 + 900 + 900 * 3 + 3);
        // The values that only the whole model has come last.
        (delta[..2].to_vec(), delta[2 + 2703..].iter().filter(|value| **value != 0.0).count())
    };
    let trained: Vec<(Vec<f32>, usize)> = (6..20).map(|step| share_of(step * 10_000)).collect();
    let (narrow, whole) = (vec![0.0, 1.0], vec![1.0, 0.0]);
    assert_eq!(trained[0], (narrow.clone(), 0), "{trained:?}");
    assert!(
        trained.iter().all(|(share, moved)| *share == narrow && *moved == 0 || *share == whole && *moved > 0)
    );
    assert_eq!(trained.last().map(|(share, _)| share), Some(&whole), "{trained:?}");
}
