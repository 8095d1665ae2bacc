//! Runs the drivers step by step. The coordinator may restart between any two steps. Also records the draws of sampled
//! rounds.

use std::collections::BTreeSet;

use folkmoot_coordinator::round::{Phase, Purpose};
use folkmoot_protocol::ClientId;
use folkmoot_rounds::drivers::drive_task;
use folkmoot_storage::{AssignmentRepository, ParticipationRepository, RoundRepository, TaskRepository};

use super::World;
use crate::{
    invariants::{Broken, Holds, no_step_fails},
    privacy::{record::Draw, script::Mechanism},
};

/// The maximum number of steps of a task in one turn. It is more than a task needs.
const STEPS_MAX: usize = 64;

impl World {
    pub(super) async fn drive(&mut self) -> Holds {
        let ids = self.storage.tasks_to_drive().await?;
        self.coordinator.crowds.retain(&ids.iter().copied().collect());
        self.store.fail_next(self.fault.take());
        for index in 0..self.tasks.len() {
            if ids.contains(&self.tasks[index].id) {
                self.drive_one(index).await?;
            }
        }
        // A fault that has not occurred yet stays pending.
        self.fault = self.store.disarm();
        Ok(())
    }

    async fn drive_one(&mut self, index: usize) -> Holds {
        let id = self.tasks[index].id;
        for _ in 0..STEPS_MAX {
            if self.script.unrest > 0 && self.chance.happens(10) {
                self.restart().await?;
            }
            let pool = self.pool(index).await?;
            let failures = self.store.failures();
            match drive_task(&self.coordinator, id, self.now()).await {
                Ok(goes_on) => {
                    self.watch_draw(index, pool).await?;
                    if !goes_on {
                        break;
                    }
                }
                Err(error) => {
                    no_step_fails(&error, self.store.failures() != failures)?;
                    self.coverage.count("steps that failed");
                    self.note(format_args!("a step of task {index} failed: {error}"));
                }
            }
        }
        Ok(())
    }

    /// Lists the clients for which a sampled round would toss a coin if it drew now.
    async fn pool(&self, index: usize) -> Result<Vec<ClientId>, Broken> {
        let task = &self.tasks[index];
        if task.script.mechanism != Mechanism::Poisson {
            return Ok(Vec::new());
        }
        let pool = self.storage.waiting_for(self.organisation, &self.population, task.id, self.now()).await?;
        Ok(pool.into_iter().map(|waiting| waiting.candidate.client_id).collect())
    }

    /// Records the draw of a sampled round.
    async fn watch_draw(&mut self, index: usize, pool: Vec<ClientId>) -> Holds {
        let task = self.tasks[index].id;
        if self.tasks[index].script.mechanism != Mechanism::Poisson {
            return Ok(());
        }
        for open in self.storage.unfinished_rounds(task).await? {
            let is_drawn = matches!(open.round.phase, Phase::Reporting { .. });
            let round = open.round.id;
            if !is_drawn || open.round.purpose != Purpose::Training || self.record.draws.contains_key(&round)
            {
                continue;
            }
            let assignments = self.storage.assignments(round).await?;
            let drawn = self.units(assignments.iter().map(|assignment| assignment.client_id));
            let waiting = self.units(pool.iter().copied());
            self.coverage.count("sampled rounds");
            self.note(format_args!("task {index} draws {} of {}", drawn.len(), waiting.len()));
            self.record.draws.insert(round, Draw { waiting, drawn });
        }
        Ok(())
    }

    fn units(&self, clients: impl Iterator<Item = ClientId>) -> BTreeSet<usize> {
        let unit = |id| self.clients.iter().find(|client| client.record.id == id).map(|client| client.unit);
        clients.filter_map(unit).collect()
    }
}
