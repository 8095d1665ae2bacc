//! The drivers. In a turn, they do the same as `drivers::run`, but the coordinator may crash between any two steps.

use folkmoot_coordinator::round::Phase;
use folkmoot_rounds::drivers::drive_task;
use folkmoot_storage::TaskRepository;

use super::{Event, World, short};
use crate::{
    invariants::{Holds, no_step_fails},
    scenario::Sabotage,
};

/// The maximum number of steps of one task before the other tasks get their turn.
const STEPS_IN_A_TURN: usize = 8;

impl World {
    pub(super) async fn tick(&mut self) -> Holds {
        let pause = self.chance.within(500..=if self.is_calm { 4_000 } else { 2_500 });
        self.after(pause, Event::DriversTick);
        self.drive().await?;
        self.collect().await
    }

    pub(super) async fn drive(&mut self) -> Holds {
        self.server.is_woken = false;
        if self.server.coordinator.is_none() || self.is_calm && self.sabotage == Some(Sabotage::NobodyDrives)
        {
            return Ok(());
        }
        let ids = self.storage.tasks_to_drive().await?;
        if let Some(coordinator) = &self.server.coordinator {
            coordinator.crowds.retain(&ids.iter().copied().collect());
        }
        for task in 0..self.tasks.len() {
            // The database may also contain tasks of other seeds.
            if ids.contains(&self.tasks[task].id) {
                self.drive_one(task).await?;
            }
        }
        self.wake_polls().await
    }

    async fn drive_one(&mut self, task: usize) -> Holds {
        let id = self.tasks[task].id;
        for _ in 0..STEPS_IN_A_TURN {
            let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
            if self.chance.happens(self.faults.crash_points / 8) {
                self.coverage.count("crashes between the steps of a driver");
                return self.crash("between the steps of a driver");
            }
            let open = self.tasks[task].rounds.values().next_back().filter(|round| !round.phase.is_final());
            let (open, aggregates) = open.map_or((None, false), |round| {
                (Some(round.id), matches!(round.phase, Phase::Aggregating { .. }))
            });
            let will_crash = aggregates && self.chance.happens(self.faults.crash_points * 2);
            let copy = match open.filter(|_| will_crash) {
                Some(round) => self.copy_log(round)?,
                None => None,
            };
            let failures = self.server.store.failures();
            match drive_task(&coordinator, id, self.server_now()).await {
                Ok(goes_on) => {
                    self.check_task(task, goes_on).await?;
                    if let Some(copy) = copy.filter(|_| goes_on) {
                        self.coverage.count("crashes between a commit and the end of its log");
                        self.put_back(&copy)?;
                        return self.crash("between a commit and the end of its log");
                    }
                    if !goes_on {
                        break;
                    }
                }
                Err(error) => {
                    self.note(format_args!("a step of task {} fails: {error}", short(id)));
                    no_step_fails(&error, self.server.store.failures() != failures)?;
                    break;
                }
            }
        }
        Ok(())
    }
}
