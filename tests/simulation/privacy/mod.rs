//! The simulation of all privacy mechanisms: what is charged is at least what really happened.
//!
//! A seed is a world: one population with some clients, and tasks that are made private in every way that the product has,
//! through the real drivers. Clients drop work, come late, send twice or too much, and enrol anew. Operators pause, cancel,
//! clone and roll back, let tasks descend from others, and change budgets. The coordinator is started anew between any two
//! steps, and its disk fails. A recorder writes down what was drawn, sent and accepted, where that happens. The noise is
//! what is left of released weights when all that was sent is taken off.
//!
//! From this an accountant of its own computes what each client or user was exposed to: a bound below the truth
//! ([`gaussian`], [`sampled`], [`measure`]), which must not exceed what the ledger charges.
//!
//! - `FOLKMOOT_FIRST_SEED=n` is the first seed; `cargo xtask test` takes it from the commit.
//! - `FOLKMOOT_SEEDS=n` runs that many, as `cargo xtask campaign --only privacy` does.
//! - `FOLKMOOT_SEED=n` runs one, and shows everything that happens.
//!
//! # How to add a mechanism
//! Give it a name and a task in `script.rs`, and say in `truth.rs` what its releases tell of a unit.

mod charged;
mod coverage;
mod gaussian;
mod measure;
mod pooled;
mod record;
mod run;
mod sampled;
mod script;
mod truth;
mod verdict;
mod world;

use charged::Forgery;
use folkmoot_rounds::noise::Sabotage;
use run::{Failure, Stage, Wrong, run_seeds};

use crate::{clock::Stopwatch, number};

/// Seeds of a run that is not told how many.
const SEEDS: u64 = 300;
/// Seeds in which each thing that is put wrong on purpose must be found.
const SEEDS_TO_FIND: u64 = 250;

#[test]
fn every_charge_covers_what_happened() {
    if let Some(seed) = number("FOLKMOOT_SEED") {
        match Stage::new().run(seed, Wrong::default(), true) {
            Ok(ran) => eprintln!("seed {seed} holds:\n{}{}", ran.coverage, ran.pooled),
            Err(failure) => panic!("{failure}"),
        }
        return;
    }
    let stopwatch = Stopwatch::start();
    let (first, count) =
        (number("FOLKMOOT_FIRST_SEED").unwrap_or(0), number("FOLKMOOT_SEEDS").unwrap_or(SEEDS));
    let total = run_seeds(first..first.saturating_add(count), Wrong::default());
    let total = total.unwrap_or_else(|failure| panic!("{failure}"));
    println!("in {:.1?} {total}", stopwatch.elapsed());
    // Of few seeds nothing is expected.
    let missing = total.coverage.missing(if count < SEEDS { 0 } else { count });
    assert!(missing.is_empty(), "the worlds have become harmless:\n  {}", missing.join("\n  "));
}

/// Runs worlds with something wrong in them until it is found, and says by what.
fn found_by(wrong: Wrong) -> &'static str {
    let found: Box<Failure> = run_seeds(0..SEEDS_TO_FIND, wrong).expect_err("what is wrong is found");
    println!("{wrong:?}: {:?}, {:?}", found.seeds, found.broken);
    found.broken.invariant
}

fn forged(forgery: Forgery) -> &'static str {
    found_by(Wrong { forgery: Some(forgery), ..Wrong::default() })
}

const COVERED: &str = "what_is_charged_covers_what_happened";

#[test]
fn noise_that_is_halved_is_found() {
    let found = found_by(Wrong { sabotage: Some(Sabotage::NoiseIsHalved), ..Wrong::default() });
    assert_eq!(found, COVERED);
}

#[test]
fn long_updates_that_are_let_in_are_found() {
    let found = found_by(Wrong { sabotage: Some(Sabotage::LongUpdatesAreLetIn), ..Wrong::default() });
    assert_eq!(found, COVERED);
}

#[test]
fn a_ledger_that_charges_too_little_is_found() {
    for forgery in [
        Forgery::RatesAreHalved,
        Forgery::AParticipationIsMissed,
        Forgery::TheLastReleaseIsMissed,
        Forgery::RolledBackVersionsAreMissed,
        Forgery::CancelledTasksAreForgiven,
        Forgery::ClonesBeginAnew,
        Forgery::CollectionsWaitForAVersion,
        Forgery::AncestorsAreForgotten,
    ] {
        assert_eq!(forged(forgery), COVERED, "{forgery:?}");
    }
}
