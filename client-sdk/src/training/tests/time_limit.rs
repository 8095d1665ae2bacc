//! Trainings that end because their time is up or the coordinator asks for a partial update. The clock advances by a
//! second at each reading.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use folkmoot_protocol::update::UpdateHeader;

use super::scene::Scene;
use crate::training::{WorkNews, prepare, work};

#[test]
fn work_that_runs_out_of_time_is_partial_and_sent() {
    let scene = Scene::new(1_000_000, Some(60.0));
    let (work, progress) = scene.train();
    let metrics = work.outcome.metrics;
    // Every step reads the clock more than once.
    assert!((2..60).contains(&metrics.step_count), "{metrics:?}");
    assert_eq!((progress.step, progress.finished), (metrics.step_count, false), "the end is told");
    assert!(work.outcome.delta.iter().any(|change| *change != 0.0));
}

#[test]
fn the_least_work_is_a_step_and_weighs_what_it_used() {
    let scene = Scene::new(1_000_000, Some(0.001));
    let (work, _) = scene.train();
    assert_eq!((work.outcome.metrics.step_count, work.outcome.metrics.example_count), (1, 2));
    prepare(&work, &scene.local.work).unwrap();
    let path = scene.local.work.update_path(work.assignment.assignment_id);
    let header = UpdateHeader::decode(std::fs::read(path).unwrap().first_chunk().unwrap()).unwrap();
    assert_eq!(header.weight, 2, "the client holds 10 examples, and used 2");
}

#[test]
fn work_that_is_asked_for_is_partial_and_weighs_what_it_used() {
    let scene = Scene::new(1_000_000, None);
    let (told, asked) = (AtomicU64::new(0), &scene.local.asked);
    let work = work(&scene.local, |news| {
        if let WorkNews::Progress(progress) = news {
            told.store(progress.step, Ordering::Relaxed);
            asked.store(progress.step >= 3, Ordering::Relaxed);
        }
    });
    let work = work.unwrap().expect("nobody stopped it");
    let metrics = work.outcome.metrics;
    assert_eq!(metrics.step_count, told.into_inner(), "the end is told");
    assert!((4..1000).contains(&metrics.step_count), "{metrics:?}");
    assert_eq!(metrics.example_count, 2 * metrics.step_count);
}

#[test]
fn who_is_asked_before_its_first_step_takes_one() {
    let scene = Scene::new(1_000_000, None);
    scene.local.asked.store(true, Ordering::Relaxed);
    let (work, progress) = scene.train();
    assert_eq!((work.outcome.metrics.step_count, progress.step), (1, 1));
    prepare(&work, &scene.local.work).unwrap();
    let path = scene.local.work.update_path(work.assignment.assignment_id);
    let header = UpdateHeader::decode(std::fs::read(path).unwrap().first_chunk().unwrap()).unwrap();
    assert_eq!(header.weight, 2, "the client holds 10 examples, and used 2");
}

#[test]
fn without_a_limit_and_before_it_all_steps_are_taken() {
    for limit in [None, Some(1e9)] {
        let (work, progress) = Scene::new(3, limit).train();
        assert_eq!((work.outcome.metrics.step_count, progress.finished), (15, true));
    }
}

#[test]
fn the_time_before_a_restart_counts() {
    let scene = Scene::new(1_000_000, Some(60.0));
    scene.leave_checkpoint(100, Duration::from_secs(60));
    let (work, _) = scene.train();
    assert_eq!(work.outcome.metrics.step_count, 101, "the time was over, which is seen after a step");

    let scene = Scene::new(1_000_000, Some(60.0));
    scene.leave_checkpoint(100, Duration::ZERO);
    assert!(scene.train().0.outcome.metrics.step_count > 102);
}

#[test]
fn a_checkpoint_of_an_earlier_version_is_begun_again() {
    let scene = Scene::new(3, None);
    scene.leave_checkpoint(2, Duration::ZERO);
    let id = scene.local.assignment.assignment_id;
    let bytes = scene.local.work.load_checkpoint(id).unwrap().unwrap();
    // As stored by earlier versions: the time and the engine's bytes, or only these.
    let engine = &bytes[16..];
    for stored in [[&bytes[..8], engine].concat(), engine.to_vec()] {
        scene.local.work.save_checkpoint(id, &stored).unwrap();
        assert_eq!(scene.train().0.outcome.metrics.step_count, 15);
    }
}
