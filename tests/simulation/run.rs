//! Runs seeds on all cores, one world at a time on each core.

use std::{
    any::Any,
    fmt,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use folkmoot_storage::{SqlOptions, SqlStorage};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::{
    clock::Stopwatch,
    coverage::Coverage,
    invariants::{Broken, broken},
    scenario::Sabotage,
    trace::Trace,
    world::World,
};

/// The number of worlds that share a database. Each world has its own organisation. Creating a database takes longer
/// than running a world.
const WORLDS_IN_A_DATABASE: u32 = 100;

/// A seed whose world violated an invariant.
#[derive(Debug)]
pub struct SeedFailure {
    pub seed: u64,
    /// The violation.
    pub broken: Broken,
    lines: Vec<String>,
}

impl fmt::Display for SeedFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} broke `{}`: {}", self.seed, self.broken.invariant, self.broken.detail)?;
        writeln!(f, "The last events were:")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        writeln!(f, "Replay it and print every event with:")?;
        let command =
            "cargo test -p folkmoot-tests --test simulation every_world_keeps_the_invariants -- --nocapture";
        writeln!(f, "  FOLKMOOT_SEED={} {command}", self.seed)
    }
}

/// The result of running a world.
#[derive(Debug)]
pub struct Ran {
    /// The counts of the world's events.
    pub coverage: Coverage,
    /// The hash of the world's trace.
    pub trace_hash: u64,
}

/// The combined result of many worlds.
#[derive(Debug, Default)]
pub struct Total {
    /// The number of worlds.
    pub worlds: u64,
    /// The counts of all worlds' events.
    pub coverage: Coverage,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seeds:\n{}", self.worlds, self.coverage)
    }
}

/// An environment in which worlds run one after the other.
pub struct Stage {
    runtime: Runtime,
    folder: TempDir,
    storage: Option<(SqlStorage, u32)>,
}

impl Stage {
    /// Creates a stage. Its round logs are in memory if the system has an in-memory file system.
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime can be built");
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
        Self { runtime, folder: folder.expect("there is a folder for temporary files"), storage: None }
    }

    /// Runs the world of a seed.
    ///
    /// # Errors
    /// The invariant that the world violated, or its panic.
    pub fn run(
        &mut self,
        seed: u64,
        sabotage: Option<Sabotage>,
        is_verbose: bool,
    ) -> Result<Ran, Box<SeedFailure>> {
        let trace = Trace::new(is_verbose);
        let folder = self.folder.path().join(format!("seed-{seed}"));
        let storage = self.storage();
        let world =
            || self.runtime.block_on(World::run(seed, sabotage, storage, folder.clone(), trace.clone()));
        let outcome = catch_unwind(AssertUnwindSafe(world));
        let outcome = outcome.unwrap_or_else(|panic| Err(broken("nothing_panics", panic_message(&*panic))));
        // No files of a world may reach the next world.
        let _ = std::fs::remove_dir_all(&folder);
        match outcome {
            Ok(coverage) => Ok(Ran { coverage, trace_hash: trace.hash() }),
            Err(broken) => {
                self.storage = None;
                Err(Box::new(SeedFailure { seed, broken, lines: trace.last_lines() }))
            }
        }
    }

    fn storage(&mut self) -> SqlStorage {
        let (storage, worlds) = match self.storage.take() {
            Some((storage, worlds)) if worlds < WORLDS_IN_A_DATABASE => (storage, worlds + 1),
            _ => {
                let connected =
                    self.runtime.block_on(SqlStorage::connect("sqlite::memory:", SqlOptions::default()));
                (connected.expect("a database in memory can be made"), 1)
            }
        };
        self.storage = Some((storage.clone(), worlds));
        storage
    }
}

pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".into())
}

/// Runs seeds on all cores until the first failure or until the time budget is used up.
///
/// # Errors
/// The failure of the smallest seed that failed.
pub fn run_seeds(
    seeds: Range<u64>,
    sabotage: Option<Sabotage>,
    budget: Option<Duration>,
) -> Result<Total, Box<SeedFailure>> {
    let stopwatch = Stopwatch::start();
    let is_spent = || budget.is_some_and(|budget| stopwatch.elapsed() >= budget);
    let next = AtomicU64::new(seeds.start);
    let (total, failure) = (Mutex::new(Total::default()), Mutex::new(None::<Box<SeedFailure>>));
    let run = || {
        let mut stage = Stage::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || is_spent() {
                return;
            }
            match stage.run(seed, sabotage, false) {
                Ok(ran) => {
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.worlds += 1;
                    total.coverage.add(&ran.coverage);
                }
                Err(failed) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|first| failed.seed < first.seed) {
                        *first = Some(failed);
                    }
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or_else(|| Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner)), Err)
}
