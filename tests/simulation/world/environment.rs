//! The faults of the environment. They stop when the world becomes calm.

use folkmoot_coordinator::task::TaskInput;
use folkmoot_protocol::{
    AssignmentId, UpdateDigest,
    messages::{AbortReason, Assignment},
};
use folkmoot_session::{Answer, Event as SessionEvent, RequestId};
use folkmoot_storage::TaskRepository;

use super::{Event, World, short};
use crate::{
    faulty_store::StoreFault,
    invariants::Holds,
    scenario::{Faults, Garbage, Nature, Sabotage},
    training::{Lesson, train},
};

/// The maximum offset of a clock, in milliseconds: ten minutes.
const OFFSET_MILLISECONDS_MAX: i64 = 10 * 60 * 1000;
/// The number that is added to an attempt's number to get a different update.
const SECOND_UPDATE: u64 = 1 << 16;

impl World {
    /// Chooses and performs the next event of the environment.
    pub(super) async fn act(&mut self) -> Holds {
        if self.is_calm {
            return Ok(());
        }
        let pause = self.chance.within(500..=8_000);
        self.after(pause, Event::EnvironmentActs);
        let total: u64 = self.faults.environment.iter().sum();
        if total == 0 {
            return Ok(());
        }
        let mut draw = self.chance.within(0..=total - 1);
        let drawn = self.faults.environment.iter().position(|weight| {
            let is_drawn = draw < *weight;
            draw = draw.saturating_sub(*weight);
            is_drawn
        });
        let client = self.chance.below(self.clients.len());
        match drawn {
            Some(0) => return self.crash("by itself"),
            Some(1) => self.kill_client(client),
            Some(2) => self.jump_server_clock(),
            Some(3) => self.jump_client_clock(client),
            Some(4) => return self.operate().await,
            Some(5) => return self.stop_client(client),
            Some(7) => {}
            _ => {
                let fault = [StoreFault::Get, StoreFault::Put, StoreFault::PutAnswer][self.chance.below(3)];
                self.coverage.count("blob failures");
                self.note(format_args!("the blobs will fail: {fault:?}"));
                self.server.store.fail_next(Some(fault));
            }
        }
        Ok(())
    }

    fn jump_server_clock(&mut self) {
        let jump = self.chance.signed(self.faults.jump_milliseconds_max);
        let offset = self.server.clock_offset + jump;
        self.server.clock_offset = offset.clamp(-OFFSET_MILLISECONDS_MAX, OFFSET_MILLISECONDS_MAX);
        self.coverage.count("coordinator clock jumps");
        self.note(format_args!("the coordinator's clock jumps by {jump} ms"));
    }

    fn jump_client_clock(&mut self, index: usize) {
        let jump = self.chance.signed(self.faults.jump_milliseconds_max);
        let client = &mut self.clients[index];
        let offset = client.clock_offset + jump;
        client.clock_offset = offset.clamp(-OFFSET_MILLISECONDS_MAX, OFFSET_MILLISECONDS_MAX);
        self.coverage.count("client clock jumps");
        self.note(format_args!("client {index}'s clock jumps by {jump} ms"));
        self.set_alarm(index);
    }

    /// An operator pauses, resumes or cancels a task.
    async fn operate(&mut self) -> Holds {
        let task = self.chance.below(self.tasks.len());
        let input = match self.chance.within(0..=9) {
            0 if self.faults.may_cancel => TaskInput::Cancel,
            0..=4 => TaskInput::Pause,
            _ => TaskInput::Resume,
        };
        self.command(task, input).await
    }

    async fn command(&mut self, task: usize, input: TaskInput) -> Holds {
        let id = self.tasks[task].id;
        let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
        let Some(record) = self.storage.task_of_any_organisation(id).await? else { return Ok(()) };
        let Ok(state) = record.state.step(input) else { return Ok(()) };
        self.note(format_args!("an operator wants of task {}: {input:?}", short(id)));
        self.storage.set_task_state(id, state, record.revision).await?;
        coordinator.facts.notify_one();
        self.tasks[task].state = state;
        match input {
            TaskInput::Pause => self.coverage.count("pauses"),
            TaskInput::Cancel => self.coverage.count("tasks cancelled"),
            _ => {}
        }
        self.listen();
        Ok(())
    }

    /// Stops a client, as its app or device may do, and starts it again later.
    fn stop_client(&mut self, index: usize) -> Holds {
        let (client, incarnation) = (&self.clients[index], self.clients[index].incarnation);
        if client.session.is_none() {
            return Ok(());
        }
        self.coverage.count("clients stopped");
        let event = if self.chance.happens(500) {
            SessionEvent::StopRequested
        } else {
            SessionEvent::ConditionsEnded
        };
        let pause = self.chance.within(100..=15_000);
        self.after(pause, Event::ClientMeets { client: index, incarnation, event: SessionEvent::Started });
        self.meet(index, incarnation, event)
    }

    /// Stops all faults. Removes the clients that never send a valid update, and starts all others.
    pub(super) async fn calm_down(&mut self) -> Holds {
        self.note(format_args!("the world becomes kind"));
        self.is_calm = true;
        self.faults = Faults::default();
        self.server.store.fail_next(None);
        self.start_coordinator().await?;
        for index in 0..self.clients.len() {
            if self.clients[index].nature != Nature::Honest {
                self.lose_client(index);
                continue;
            }
            self.start_client(index)?;
            if self.clients[index].session.as_ref().is_some_and(|session| session.is_stopped()) {
                let incarnation = self.clients[index].incarnation;
                self.meet(index, incarnation, SessionEvent::Started)?;
            }
        }
        for task in 0..self.tasks.len() {
            self.command(task, TaskInput::Resume).await?;
        }
        Ok(())
    }

    /// Encodes the trained update and stores it, before the client announces it.
    pub(super) fn prepare(&mut self, index: usize, request_id: RequestId, assignment: &Assignment) {
        let id: AssignmentId = assignment.assignment_id;
        let client = &self.clients[index];
        let trained = client.trained.filter(|(trained, _)| *trained == id);
        let task = self.tasks.iter().find(|task| task.id == assignment.task_id);
        let (Some((_, attempt)), Some(task)) = (trained, task) else {
            let answer = Answer::WorkFailed {
                reason: AbortReason::StateLost,
                detail: "what was trained is gone".into(),
            };
            let event = SessionEvent::answered(request_id, answer);
            let incarnation = client.incarnation;
            return self.after(1, Event::ClientMeets { client: index, incarnation, event });
        };
        let masking = assignment.is_masked.then(|| self.masking(client, task, assignment));
        let lesson = Lesson {
            grid: &task.description.grid,
            schema_digest: task.schema.digest(),
            parameter_count: task.schema.parameter_count() as usize,
            masking: masking.as_ref().map(|masking| (&task.plan, masking)),
        };
        let mut trained = train(self.seed, index, client.nature, assignment, attempt, &lesson);
        trained.remembered.is_garbage |= self.sabotage == Some(Sabotage::GarbageCounts);
        let (digest, length) = (UpdateDigest::of(&trained.bytes), trained.bytes.len() as u64);
        self.ledger.memory.insert((id, digest), trained.remembered);
        let incarnation = client.incarnation;
        if client.nature == Nature::Hostile(Garbage::TwoUpdates) {
            let second = train(self.seed, index, client.nature, assignment, attempt + SECOND_UPDATE, &lesson);
            self.ledger.memory.insert((id, UpdateDigest::of(&second.bytes)), second.remembered);
            self.clients[index].second_updates.insert(id, second.bytes.into());
        }
        self.clients[index].updates.insert(id, trained.bytes.into());
        let event = SessionEvent::answered(request_id, Answer::Prepared { digest, length });
        let pause = self.chance.within(1..=200);
        self.after(pause, Event::ClientMeets { client: index, incarnation, event });
    }
}
