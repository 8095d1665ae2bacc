//! A world: one population with its clients, tasks and operator, and a real coordinator with real drivers. Time passes
//! in ticks of some seconds. In each tick, the clients, the operator and the drivers may act.

mod clients;
mod drive;
mod keeping_up;
mod operator;
mod set_up;
mod updates;

use std::{collections::BTreeMap, sync::Arc};

pub use clients::Client;
use folkmoot_protocol::{BlobDigest, OrganisationId, Plan, PopulationName, TaskId, Timestamp};
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::{coordinator::Coordinator, noise::Sabotage};
use folkmoot_storage::{Storage, TaskRecord, TaskRepository};

use super::{
    coverage::Coverage,
    record::Record,
    script::{Script, TaskScript},
};
use crate::{
    chance::Chance,
    faulty_store::{FaultyStore, StoreFault},
    invariants::{Broken, Holds, broken},
    trace::Trace,
};

/// The Unix time at which worlds begin, in milliseconds.
const BEGINNING: u64 = 1_700_000_000_000;
/// The number of ticks after which all running tasks are cancelled.
const TICKS_MAX: u64 = 90;

/// A created task.
pub struct Task {
    pub id: TaskId,
    pub script: TaskScript,
}

pub struct World {
    pub script: Script,
    /// True while the population's budget is the one in the script.
    pub is_budget_as_scripted: bool,
    pub storage: Storage,
    pub coordinator: Arc<Coordinator>,
    pub organisation: OrganisationId,
    pub population: PopulationName,
    pub tasks: Vec<Task>,
    pub record: Record,
    pub coverage: Coverage,
    seed: u64,
    now: u64,
    chance: Chance,
    trace: Trace,
    clients: Vec<Client>,
    /// Tasks that are not created yet, in reverse order.
    planned: Vec<TaskScript>,
    plans: BTreeMap<BlobDigest, Arc<Plan>>,
    model: BlobDigest,
    pub store: Arc<FaultyStore>,
    log: RoundLog,
    sabotage: Option<Sabotage>,
    /// The fault that occurs in a driver's next call of the blob store.
    fault: Option<StoreFault>,
    starts: u64,
    enrolments: u64,
    units: usize,
}

impl World {
    /// Runs a world to its end.
    ///
    /// # Errors
    /// The invariant that was violated.
    pub async fn run(
        seed: u64,
        sabotage: Option<Sabotage>,
        storage: Storage,
        trace: Trace,
    ) -> Result<Self, Broken> {
        let mut world = Self::set_up(seed, sabotage, storage, trace).await?;
        for _ in 0..TICKS_MAX {
            // Sampled rounds depend on the clock, and many of them are needed to use up a budget, so let more time
            // pass.
            let seconds = if world.script.one_by_one { 8..=16 } else { 3..=12 };
            world.now += world.chance.within(seconds) * 1000;
            world.make_planned().await?;
            if world.chance.happens(world.script.unrest) {
                world.operate().await?;
            }
            world.check_in().await?;
            world.drive().await?;
            world.send().await?;
            world.charges_keep_up().await?;
            if !world.script.one_by_one {
                world.drive().await?;
                world.charges_keep_up().await?;
            }
            if world.is_over().await? {
                break;
            }
        }
        world.wind_up().await?;
        Ok(world)
    }

    /// Cancels the running tasks. A sample that was already drawn still leads to its version.
    async fn wind_up(&mut self) -> Holds {
        for index in 0..self.tasks.len() {
            if !self.task(index).await?.state.is_final() {
                self.cancel(index).await?;
            }
        }
        self.drive().await
    }

    async fn is_over(&self) -> Result<bool, Broken> {
        Ok(self.planned.is_empty() && self.all_are_final().await?)
    }

    async fn all_are_final(&self) -> Result<bool, Broken> {
        for index in 0..self.tasks.len() {
            if !self.task(index).await?.state.is_final() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the current record of a task.
    pub async fn task(&self, index: usize) -> Result<TaskRecord, Broken> {
        let found = self.storage.task_of_any_organisation(self.tasks[index].id).await?;
        found.ok_or_else(|| broken("a_task_stays", self.tasks[index].id.to_string()))
    }

    fn now(&self) -> Timestamp {
        Timestamp(BEGINNING + self.now)
    }

    fn note(&self, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.now, what);
    }
}

/// Reports an unexpected refusal.
fn refused(error: impl std::fmt::Display) -> Broken {
    broken("what_is_right_is_not_refused", error.to_string())
}
