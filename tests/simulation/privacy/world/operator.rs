//! The operators' actions on tasks. They do the same as the API's handlers.

use folkmoot_api::tasks::CreateTaskRequest;
use folkmoot_coordinator::task::{TaskInput, TaskState, WarmStart};
use folkmoot_rounds::{
    drivers::{forget_last_noise, release_again},
    registry,
};
use folkmoot_storage::{
    ClientRepository, ModelVersionRepository, RoundRepository, TaskRepository, TokenAfter,
};

use super::{Task, World, refused};
use crate::{
    faulty_store::StoreFault,
    invariants::{Broken, Holds},
    privacy::script::TaskScript,
};

/// The maximum number of tasks in a world.
const TASKS_MAX: usize = 4;

impl World {
    /// Creates the next planned task, if no other task must end first and a random choice allows it.
    pub(super) async fn make_planned(&mut self) -> Holds {
        let waits = self.script.one_by_one && !self.all_are_final().await?;
        if waits || self.planned.is_empty() || !self.tasks.is_empty() && self.chance.happens(500) {
            return Ok(());
        }
        let script = self.planned.pop().expect("there is one");
        Box::pin(self.make_task(script, None)).await.map(drop)
    }

    /// Creates a task. Returns `false` if the coordinator refuses it.
    async fn make_task(&mut self, script: TaskScript, warm_start: Option<WarmStart>) -> Result<bool, Broken> {
        let description = script.description.clone();
        let model = self.model;
        let request =
            CreateTaskRequest { description, model, evaluation_data: None, warm_start, activate: true };
        let name = script.mechanism.name();
        match registry::create_task(&self.coordinator, self.organisation, request, self.now()).await {
            Ok(task) => {
                self.coverage.count_task(script.mechanism);
                self.note(format_args!(
                    "task {} is made: {name}, {:?}",
                    self.tasks.len(),
                    script.description.privacy
                ));
                self.tasks.push(Task { id: task.id, script });
                Ok(true)
            }
            Err(refusal) => {
                self.coverage.count("tasks refused");
                self.note(format_args!("a task is refused: {name}: {refusal:?}"));
                Ok(false)
            }
        }
    }

    /// Performs one random action of an operator.
    pub(super) async fn operate(&mut self) -> Holds {
        let task = self.chance.below(self.tasks.len().max(1));
        match self.chance.within(0..=10) {
            0 => self.enrol_anew().await,
            1 => self.restart().await,
            2 => {
                let fault = [StoreFault::Put, StoreFault::PutAnswer, StoreFault::Get][self.chance.below(3)];
                self.fault = Some(fault);
                Ok(())
            }
            3 => self.change_budget().await,
            _ if self.tasks.is_empty() => Ok(()),
            4 | 5 => self.make_another(task).await,
            6 | 7 => self.roll_back(task).await,
            8 => self.cancel_if_running(task).await,
            _ => self.pause_or_resume(task).await,
        }
    }

    /// Applies an operator's input to a task, if its state allows the input.
    async fn change(&mut self, index: usize, input: TaskInput) -> Holds {
        let task = self.task(index).await?;
        let Ok(next) = task.state.step(input) else { return Ok(()) };
        if next != task.state {
            let open = self.storage.unfinished_rounds(task.id).await?;
            self.record.stopped.extend(open.into_iter().map(|record| record.round.id));
            self.storage.set_task_state(task.id, next, task.revision).await?;
            self.note(format_args!("task {index}: {}", next.name()));
        }
        Ok(())
    }

    pub(super) async fn cancel(&mut self, index: usize) -> Holds {
        self.change(index, TaskInput::Cancel).await?;
        let forgotten = forget_last_noise(&self.coordinator, self.tasks[index].id).await;
        forgotten.map_err(refused)
    }

    async fn cancel_if_running(&mut self, index: usize) -> Holds {
        if self.task(index).await?.state.is_final() {
            return Ok(());
        }
        self.coverage.count("tasks cancelled");
        if self.storage.unfinished_round(self.tasks[index].id).await?.is_some() {
            self.coverage.count("tasks cancelled in mid-round");
        }
        self.cancel(index).await
    }

    async fn pause_or_resume(&mut self, index: usize) -> Holds {
        match self.task(index).await?.state {
            TaskState::Active { .. } => {
                self.coverage.count("pauses");
                self.change(index, TaskInput::Pause).await
            }
            TaskState::Paused { .. } => self.change(index, TaskInput::Resume).await,
            _ => Ok(()),
        }
    }

    /// Clones a task, or creates a descendant that starts from the weights of one of its versions.
    async fn make_another(&mut self, index: usize) -> Holds {
        let waits = self.script.one_by_one && !self.all_are_final().await?;
        if waits || self.tasks.len() >= TASKS_MAX {
            return Ok(());
        }
        let (id, script) = (self.tasks[index].id, self.tasks[index].script.clone());
        let newest = self.storage.latest_model_version(id).await?.map_or(0, |version| version.number);
        let warm = self.chance.happens(600);
        let version = if self.chance.happens(700) { newest } else { self.chance.within(0..=newest) };
        let warm_start = warm.then_some(WarmStart { task_id: id, version });
        if Box::pin(self.make_task(script, warm_start)).await? {
            self.coverage.count(if warm { "tasks that descend" } else { "clones" });
        }
        Ok(())
    }

    /// Pauses a task, rolls it back to an earlier version, and resumes it.
    async fn roll_back(&mut self, index: usize) -> Holds {
        self.change(index, TaskInput::Pause).await?;
        self.drive().await?;
        let task = self.task(index).await?;
        let newest = self.storage.latest_model_version(task.id).await?.expect("there is version 0");
        let is_over = self.storage.unfinished_round(task.id).await?.is_none();
        let is_paused = matches!(task.state, TaskState::Paused { .. });
        if is_paused && is_over && newest.making.noise_state.is_none() && newest.number > 0 {
            let to = self.chance.within(0..=newest.number - 1);
            let found = self.storage.model_version(task.id, to).await?.expect("it is before the newest");
            let made = release_again(&self.coordinator, &task, found, self.now()).await?;
            self.coverage.count("roll-backs");
            self.note(format_args!("task {index}: version {made} is version {to} again"));
        }
        self.change(index, TaskInput::Resume).await
    }

    /// Enrols a device again with a new key. In most cases, the old key is revoked.
    async fn enrol_anew(&mut self) -> Holds {
        let index = self.chance.below(self.clients.len());
        let (nature, user) = (self.clients[index].nature, self.clients[index].user);
        if self.chance.happens(700) && !self.clients[index].is_gone {
            let (id, now) = (self.clients[index].record.id, self.now());
            self.storage.revoke_client(self.organisation, id, TokenAfter::Closed, now).await?;
            self.clients[index].is_gone = true;
            // A coin may still select the old client, but this client sends no update.
            self.record.lengths.insert(self.clients[index].unit, 0.0);
        }
        self.coverage.count("clients enrolled again");
        self.add_client(nature, user).await
    }

    /// Sets a budget, tightens it, or weakens it with a reason.
    async fn change_budget(&mut self) -> Holds {
        let budget = (self.chance.within(10..=200) as f64 / 10.0, 1e-5);
        let weakened = self.chance.happens(300).then_some("a second study");
        if self.set_budget(Some(budget), weakened).await? {
            self.is_budget_as_scripted = false;
            self.coverage.count("budgets set");
            self.note(format_args!("the population may spend {budget:?}"));
        }
        Ok(())
    }
}
