//! Runs seeds on all cores, one world at a time on each core.

use std::{
    fmt,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use folkmoot_rounds::noise::Sabotage;
use folkmoot_storage::{MemoryStorage, SqlOptions, SqlStorage, Storage};
use tokio::runtime::{Builder, Runtime};

use super::{charged::Forgery, coverage::Coverage, pooled::Pooled, verdict::judge, world::World};
use crate::{
    invariants::{Broken, broken},
    run::panic_message,
    trace::Trace,
};

/// One in this number of worlds uses SQLite. The others use memory, which is faster.
const WORLDS_TO_ONE_OVER_SQLITE: u64 = 25;

/// A deliberate mistake that the simulation must find.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrong {
    /// A fault of the coordinator; `None` for no fault.
    pub sabotage: Option<Sabotage>,
    /// A forgery of the ledger's charges; `None` for no forgery.
    pub forgery: Option<Forgery>,
}

/// A seed whose world violated an invariant, or several seeds whose joint statistics show a violation.
#[derive(Debug)]
pub struct Failure {
    /// The failing seed, or all seeds of the run.
    pub seeds: Range<u64>,
    pub broken: Broken,
    lines: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Broken { invariant, detail }, first) = (&self.broken, self.seeds.start);
        let command = "cargo test -p folkmoot-tests --test simulation every_charge_covers -- --nocapture";
        let count = self.seeds.end - first;
        if count > 1 {
            writeln!(f, "{count} worlds together violate `{invariant}`: {detail}\nRun them again with:")?;
            return writeln!(f, "  FOLKMOOT_FIRST_SEED={first} FOLKMOOT_SEEDS={count} {command}");
        }
        writeln!(f, "seed {first} violates `{invariant}`: {detail}\nThe last events were:")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        writeln!(f, "Replay it and print every event with:\n  FOLKMOOT_SEED={first} {command}")
    }
}

/// The combined results of all worlds.
#[derive(Debug, Default)]
pub struct Total {
    pub worlds: u64,
    pub coverage: Coverage,
    pub pooled: Pooled,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} worlds:\n{}{}", self.worlds, self.coverage, self.pooled)
    }
}

/// An environment in which worlds run one after the other.
pub struct Stage {
    runtime: Runtime,
    /// A database in which each world has its own organisation.
    sqlite: Option<SqlStorage>,
}

impl Stage {
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime can be built");
        Self { runtime, sqlite: None }
    }

    /// Runs the world of a seed.
    ///
    /// # Errors
    /// The invariant that the world violated, or its panic.
    pub fn run(&mut self, seed: u64, wrong: Wrong, is_verbose: bool) -> Result<Total, Box<Failure>> {
        let trace = Trace::new(is_verbose);
        let is_sqlite = seed.is_multiple_of(WORLDS_TO_ONE_OVER_SQLITE);
        let storage = if is_sqlite { self.sqlite().into() } else { Storage::from(MemoryStorage::new()) };
        let world = async {
            let mut world = Box::pin(World::run(seed, wrong.sabotage, storage, trace.clone())).await?;
            world.coverage.count_many("worlds over SQLite", u64::from(is_sqlite));
            let pooled = judge(&mut world, wrong.forgery).await?;
            Ok(Total { worlds: 1, coverage: world.coverage, pooled })
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(world)));
        let outcome = outcome.unwrap_or_else(|panic| Err(broken("nothing_panics", panic_message(&*panic))));
        outcome.map_err(|broken| {
            self.sqlite = None;
            Box::new(Failure { seeds: seed..seed.saturating_add(1), broken, lines: trace.last_lines() })
        })
    }

    fn sqlite(&mut self) -> SqlStorage {
        let connect = || self.runtime.block_on(SqlStorage::connect("sqlite::memory:", SqlOptions::default()));
        self.sqlite.get_or_insert_with(|| connect().expect("a database in memory can be made")).clone()
    }
}

/// Runs seeds on all cores until the first failure, and checks the statistics over all of them.
///
/// # Errors
/// The failure of the smallest seed that failed, or a violation that the statistics show.
pub fn run_seeds(seeds: Range<u64>, wrong: Wrong) -> Result<Total, Box<Failure>> {
    let next = AtomicU64::new(seeds.start);
    let (total, failure) = (Mutex::new(Total::default()), Mutex::new(None::<Box<Failure>>));
    let run = || {
        let mut stage = Stage::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            match stage.run(seed, wrong, false) {
                Ok(ran) => {
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.worlds += 1;
                    total.coverage.add(&ran.coverage);
                    total.pooled.merge(&ran.pooled);
                }
                Err(failed) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|first| failed.seeds.start < first.seeds.start) {
                        *first = Some(failed);
                    }
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    if let Some(failure) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    match total.pooled.judge() {
        Ok(()) => Ok(total),
        Err(broken) => Err(Box::new(Failure { seeds, broken, lines: Vec::new() })),
    }
}
