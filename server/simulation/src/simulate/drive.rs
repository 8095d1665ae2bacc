//! The simulation's drivers: takes the steps of `drivers::run`, and decides when the next step is due.

use folkmoot_coordinator::{
    round::{Phase, Purpose},
    scheduling::SchedulingChoice,
    task::TaskState,
};
use folkmoot_rounds::drivers::drive_task;
use folkmoot_storage::{AssignmentRepository, RoundRepository, TaskRepository};
use futures::FutureExt;

use super::{SimulateError, events::Event, world::World};

/// The number of milliseconds for which facts are gathered before the drivers look at them.
const GATHER_MILLISECONDS: u64 = 100;
/// The number of milliseconds after which the drivers look at the task even if they were not woken.
const LOOK_MILLISECONDS: u64 = 30_000;

impl World {
    /// Wakes the drivers after `milliseconds`, unless they wake earlier.
    pub fn wake_drivers(&mut self, milliseconds: u64) {
        let at = self.now.saturating_add(milliseconds);
        if at < self.wakes_at {
            self.wake += 1;
            self.wakes_at = at;
            self.queue.push(at, Event::DriversWake { wake: self.wake });
        }
    }

    /// Wakes the drivers if a fact was recorded.
    pub fn listen(&mut self) {
        let is_notified = self
            .coordinator
            .as_ref()
            .is_some_and(|coordinator| coordinator.facts.notified().now_or_never().is_some());
        if is_notified {
            self.wake_drivers(GATHER_MILLISECONDS);
        }
    }

    pub async fn drive(&mut self) -> Result<(), SimulateError> {
        self.wakes_at = u64::MAX;
        let Some(coordinator) = self.coordinator.clone() else { return Ok(()) };
        loop {
            self.read_updates().await?;
            if !Box::pin(drive_task(&coordinator, self.task, self.server_now())).await? {
                break;
            }
            self.record().await?;
        }
        // The coordinator has abandoned the round, and would try the function again.
        if let Some(failure) = self.functions.as_ref().and_then(|functions| functions.take_failure()) {
            return Err(SimulateError::Functions(failure));
        }
        let task = self.storage.task_of_any_organisation(self.task).await?;
        // If the coordinator has paused the task, the simulation is over, because no operator can fix and resume the
        // task.
        self.is_over = task.is_none_or(|task| {
            task.state.is_final() || matches!(task.state, TaskState::Paused { reason: Some(_), .. })
        });
        self.wake_polls().await?;
        let next = self.next_deadline().await?;
        self.wake_drivers(next.min(LOOK_MILLISECONDS));
        Ok(())
    }

    /// Returns the number of milliseconds until a round next changes without a new fact.
    async fn next_deadline(&self) -> Result<u64, SimulateError> {
        let now = self.server_now();
        let mut next = u64::MAX;
        for record in self.storage.unfinished_rounds(self.task).await? {
            let since = record.round.phase.since();
            let federated = self.description.evaluation.as_ref().and_then(|one| one.federated.as_ref());
            let cohort = match (record.round.purpose, &self.description.scheduling, federated) {
                (Purpose::Evaluation, _, Some(federated)) => Some(federated.policy()),
                (_, SchedulingChoice::Synchronous(policy), _) => Some(*policy),
                _ => None,
            };
            let of_training = record.round.purpose == Purpose::Training;
            let seconds = match (&record.round.phase, cohort, &self.description.scheduling) {
                (Phase::Selecting { .. }, Some(policy), _) => Some(policy.selection_deadline_seconds),
                (Phase::Reporting { .. }, Some(policy), _) => Some(policy.reporting_deadline_seconds),
                (Phase::Selecting { .. }, None, SchedulingChoice::AggressiveSynchronous(policy)) => {
                    Some(policy.selection_deadline_seconds)
                }
                (Phase::Collecting { .. }, _, SchedulingChoice::SemiSynchronous(policy)) => {
                    Some(policy.slot_seconds)
                }
                (Phase::Collecting { .. }, _, SchedulingChoice::Buffered(policy)) => {
                    policy.commit_after_seconds
                }
                _ => None,
            };
            let mut at = seconds.map(|seconds| since.plus_seconds(seconds));
            if let SchedulingChoice::AggressiveSynchronous(policy) = &self.description.scheduling
                && let (true, Phase::Reporting { asked, .. }) = (of_training, &record.round.phase)
            {
                at = Some(policy.closes_at(since, *asked));
            }
            let left = at.map(|at| at.milliseconds_since(now));
            // A round whose time is over but which has too few updates changes when a fact is recorded, not at a
            // certain time.
            next = next.min(left.filter(|left| *left > 0).unwrap_or(u64::MAX));
            if matches!(record.round.phase, Phase::Collecting { .. }) {
                let outstanding = self.storage.outstanding(self.task).await?;
                let deadlines = outstanding.iter().map(|one| one.deadline.milliseconds_since(now));
                next = next.min(deadlines.min().unwrap_or(u64::MAX).max(1));
            }
        }
        Ok(next)
    }
}
