//! The seeded simulation: a real coordinator, real sessions and a real database in one process, with a virtual clock
//! that only events advance. Each seed is a world. Requests and responses are lost, duplicated, delayed and reordered.
//! Processes crash between any two steps, clocks jump, disks fail, and some clients lie. The invariants are checked
//! after every step. At some point, the faults stop, and every task must then end.
//!
//! Every fifth world has a task whose clients mask their updates, with real journals and keys. Clients drop out before any
//! step, break the protocol, and crash between a journal and its message.
//!
//! The first 300 seeds always run, and must show every fault. New seeds follow, from `FOLKMOOT_FIRST_SEED` on:
//!
//! - `FOLKMOOT_SECONDS=n` runs new seeds for n seconds, as `cargo xtask test` does on every commit.
//! - `FOLKMOOT_SEEDS=n` runs n new seeds, as `cargo xtask campaign` does.
//! - `FOLKMOOT_SEED=n` runs only seed n, and prints every event.
//!
//! `privacy/` is a separate simulation of the charges of private tasks.
//!
//! # How to add a fault
//! Give it a rate in `scenario.rs`, a place in `world/` where it strikes, and a line in `coverage.rs`. With that line,
//! the test fails if the fault no longer occurs. Keep a seed that found a bug as a named test below.

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

/// The number of seeds with which every run begins. They are enough to check that every fault occurs often enough.
const FIXED_SEEDS: u64 = 300;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_world_keeps_the_invariants() {
    if let Some(seed) = number("FOLKMOOT_SEED") {
        // Print the coordinator's log between the events.
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
    assert!(missing.is_empty(), "these faults and events occur too rarely:\n  {}", missing.join("\n  "));
    let (first, seconds) = (number("FOLKMOOT_FIRST_SEED").unwrap_or(FIXED_SEEDS), number("FOLKMOOT_SECONDS"));
    let seeds = number("FOLKMOOT_SEEDS").unwrap_or(if seconds.is_some() { u64::MAX - first } else { 0 });
    run(first..first.saturating_add(seeds), seconds.map(Duration::from_secs));
}

/// A replayed seed runs alone on a new stage. Its trace must equal the trace of the same seed after other worlds in one
/// database.
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

/// Runs worlds with a deliberate mistake until an invariant is violated. Returns the name of the invariant.
fn found_by(sabotage: Sabotage) -> &'static str {
    let failure =
        run_seeds(0..500, Some(sabotage), None).expect_err("the simulation must find a deliberate mistake");
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
fn a_second_answer_of_a_journal_is_found() {
    assert_eq!(found_by(Sabotage::AJournalForgets), "a_journal_answers_once");
}

#[test]
fn a_blob_that_is_needed_and_deleted_is_found() {
    assert_eq!(found_by(Sabotage::NothingIsNeeded), "what_is_needed_is_kept");
}

#[test]
fn a_world_that_stands_still_is_found() {
    assert_eq!(found_by(Sabotage::NobodyDrives), "a_kind_world_comes_to_its_end");
}

/// The response to an accepted update was lost, and the client gave up its assignment. The coordinator then removed the
/// update's bytes before its flow had committed.
#[test]
fn seed_274_an_accepted_update_is_given_up() {
    holds(274);
}

/// A flow ended, and the log of an outstanding assignment was not removed.
#[test]
fn seed_8_a_flow_ends_with_assignments_under_way() {
    holds(8);
}

/// A client gave up an update that was already in the running sum, and another task's round was abandoned. The clean-up
/// then removed the bytes that were needed to subtract the update from the sum.
#[test]
fn seed_3238_a_clean_up_beside_a_running_sum() {
    holds(3238);
}

/// Runs a seed that failed in the past.
fn holds(seed: u64) {
    Stage::new().run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
}

/// After a broken connection, a client asked how much of its update had arrived, and always got status 500. The request
/// tried to open the segment that the broken upload still held.
#[test]
fn seed_5_a_broken_upload_is_asked_about() {
    holds(5);
}

/// The last byte of an update arrived after its round had been abandoned, and the response was status 500. The folder
/// that should be synced had been removed with the round.
#[test]
fn seed_71_an_upload_outlives_its_round() {
    holds(71);
}
