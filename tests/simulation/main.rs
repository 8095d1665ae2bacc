//! The seeded simulation: a real coordinator, real sessions and a real database in one process, on a clock that
//! only events move. Requests and answers are lost, doubled, late and out of order, processes crash between any
//! two steps, clocks jump, disks fail, and some clients lie; after every step the invariants are checked, and
//! when the world becomes kind every task must come to its end.
//!
//! The first 300 seeds run always, and must show every fault. After them come new ones, from `FOLKMOOT_FIRST_SEED` on:
//!
//! - `FOLKMOOT_SECONDS=n` runs new seeds for that long, as `cargo xtask test` does on every commit.
//! - `FOLKMOOT_SEEDS=n` runs that many new seeds, as `cargo xtask campaign` does.
//! - `FOLKMOOT_SEED=n` runs one seed only, and shows everything that happens.
//!
//! `privacy/` is a simulation of its own, of what private tasks are charged.
//!
//! # How to add another fault
//! Give it a rate in `scenario.rs`, a place in `world/` where it strikes, and a line in `coverage.rs`, so that it
//! is noticed when it no longer does. A seed that found a mistake stays, as a named test below.

mod chance;
mod clock;
mod coverage;
mod faulty_store;
mod invariants;
mod oracle;
mod privacy;
mod run;
mod scenario;
mod trace;
mod training;
mod world;

use std::time::Duration;

use run::{Stage, run_seeds};
use scenario::Sabotage;

/// The seeds that every run begins with: enough to say of every fault whether it strikes often enough.
const FIXED_SEEDS: u64 = 300;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_world_keeps_the_invariants() {
    if let Some(seed) = number("FOLKMOOT_SEED") {
        // The coordinator's own log, between the events.
        let log = tracing_subscriber::fmt().without_time().with_writer(std::io::stderr);
        log.with_env_filter("warn,folkmoot_rounds=debug").init();
        match Stage::new().run(seed, None, true) {
            Ok(ran) => eprintln!("seed {seed} holds:\n{}", ran.coverage),
            Err(failure) => panic!("{failure}"),
        }
        return;
    }
    let run = |seeds, budget| {
        let stopwatch = clock::Stopwatch::start();
        let total = run_seeds(seeds, None, budget).unwrap_or_else(|failure| panic!("{failure}"));
        println!("in {:.1?} {total}", stopwatch.elapsed());
        total.coverage
    };
    let missing = run(0..FIXED_SEEDS, None).missing(FIXED_SEEDS);
    assert!(missing.is_empty(), "the worlds have become harmless:\n  {}", missing.join("\n  "));
    let (first, seconds) = (number("FOLKMOOT_FIRST_SEED").unwrap_or(FIXED_SEEDS), number("FOLKMOOT_SECONDS"));
    let seeds = number("FOLKMOOT_SEEDS").unwrap_or(if seconds.is_some() { u64::MAX - first } else { 0 });
    run(first..first.saturating_add(seeds), seconds.map(Duration::from_secs));
}

/// Also alone on a fresh stage, where it is replayed, and not only after other worlds in one database.
#[test]
fn the_same_seed_gives_the_same_trace() {
    let mut shared = Stage::new();
    for seed in 0..8 {
        let run =
            |stage: &mut Stage| stage.run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        let (first, second) = (run(&mut shared), run(&mut Stage::new()));
        assert_eq!((first.trace_hash, &first.coverage), (second.trace_hash, &second.coverage), "seed {seed}");
    }
}

/// Runs worlds with a mistake in them until it is found, and says by which invariant.
fn found_by(sabotage: Sabotage) -> &'static str {
    let failure =
        run_seeds(0..500, Some(sabotage), None).expect_err("a simulation that misses a mistake is of no use");
    failure.broken.invariant
}

#[test]
fn a_lost_update_is_found() {
    assert_eq!(found_by(Sabotage::AnUpdateIsLost), "weights_are_the_oracles");
}

#[test]
fn a_forged_answer_is_found() {
    assert_eq!(found_by(Sabotage::AnAnswerIsForged), "what_was_answered_is_stored");
}

#[test]
fn a_second_update_of_one_session_is_found() {
    assert_eq!(found_by(Sabotage::AClientAnswersTwice), "a_session_shows_one_digest");
}

#[test]
fn garbage_that_counts_is_found() {
    assert_eq!(found_by(Sabotage::GarbageCounts), "garbage_is_never_accepted");
}

#[test]
fn a_world_that_stands_still_is_found() {
    assert_eq!(found_by(Sabotage::NobodyDrives), "a_kind_world_comes_to_its_end");
}

/// A client whose answer was lost gave its assignment up after the update had been accepted, and the update's bytes were
/// removed before its flow committed.
#[test]
fn seed_274_an_accepted_update_is_given_up() {
    holds(274);
}

/// A task that flows ended, and the log of an assignment that was under way stayed.
#[test]
fn seed_8_a_flow_ends_with_assignments_under_way() {
    holds(8);
}

/// A client gave up an update that was folded already, another task's round was abandoned, and the clean-up after it
/// removed the bytes with which the update was to be taken out of the sum again.
#[test]
fn seed_3238_a_clean_up_beside_a_running_sum() {
    holds(3238);
}

/// Runs one seed that once failed.
fn holds(seed: u64) {
    Stage::new().run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A client whose connection broke asked how much of its update had arrived, and was answered 500 for ever: the
/// question opened the segment that the broken upload still held.
#[test]
fn seed_5_a_broken_upload_is_asked_about() {
    holds(5);
}

/// The last byte of an update came when its round had been abandoned, and the answer was 500: the folder that
/// was to be synced had gone with the round.
#[test]
fn seed_71_an_upload_outlives_its_round() {
    holds(71);
}
