//! The app says how much memory a training may hold. A plan may lower that, and not raise it.

use folkmoot_protocol::messages::AbortReason;

use super::scene::Scene;
use crate::training::{within_memory, work};

#[test]
fn a_plan_that_needs_more_than_the_app_allows_is_declined() {
    let mut scene = Scene::of(10, |plan| plan.training.memory_bytes_max = Some(u64::MAX));
    scene.local.memory_bytes_max = 100;
    let error = work(&scene.local, |_| {}).expect_err("100 bytes are too few");
    assert_eq!(error.reason, AbortReason::PlanUnsupported);
    assert!(error.detail.contains("bytes"), "{}", error.detail);
    scene.local.memory_bytes_max = 1 << 20;
    assert!(work(&scene.local, |_| {}).expect("a megabyte is enough").is_some());
}

#[test]
fn the_smaller_of_both_limits_counts() {
    let limit = |asked: Option<u64>, allowed| {
        let scene = Scene::of(2, |plan| plan.training.memory_bytes_max = asked);
        within_memory(scene.plan, allowed).training.memory_bytes_max
    };
    assert_eq!([limit(None, 7), limit(Some(5), 7), limit(Some(9), 7)], [Some(7), Some(5), Some(7)]);
}
