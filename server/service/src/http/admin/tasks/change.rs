use folkmoot_api::tasks::TaskView;
use folkmoot_coordinator::task::{TaskInput, TaskState};
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::{
    coordinator::Coordinator,
    drivers::forget_last_noise,
    privacy::{Passed, Standing},
    refusal::Refusal,
    signals::Signal,
};
use folkmoot_storage::{StorageError, TaskRecord, TaskRepository};

use super::view::view;
use crate::http::{
    App,
    admin::{access::Caller, called},
};

/// The maximum number of attempts to write a task's state while other processes change it.
const ATTEMPTS_MAX: u32 = 16;

/// Changes a task's state on behalf of an operator. A request for the state that the task already has changes nothing.
pub async fn change(app: &App, caller: &Caller, id: &str, input: TaskInput) -> Result<TaskView, Refusal> {
    let storage = &app.coordinator.storage;
    // The name is resolved once: another task may get it meanwhile.
    let mut task = called::task(app, caller, id).await?;
    let id = task.id.to_string();
    for attempt in 1..=ATTEMPTS_MAX {
        let next = task.state.step(input)?;
        if next == task.state {
            return view(storage, task).await;
        }
        let changed = match next.is_active() {
            true => start(&app.coordinator, &task, input, next).await?,
            false => storage.set_task_state(task.id, next, task.revision).await,
        };
        match changed {
            Ok(()) => break,
            Err(StorageError::RevisionConflict(_) | StorageError::LeaveConflict)
                if attempt < ATTEMPTS_MAX =>
            {
                task = called::task(app, caller, &id).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if input == TaskInput::Cancel
        && let Err(error) = forget_last_noise(&app.coordinator, task.id).await
    {
        tracing::error!(%error, task = %task.id, "could not delete the noise state of a cancelled task");
    }
    app.coordinator.signal(Signal::Fact);
    let task = called::task(app, caller, &id).await?;
    tracing::info!(task = %task.id, state = task.state.name(), by = %caller.who, "task changed");
    view(storage, task).await
}

/// Starts a task if its population allows it. Since the task was created or paused, another task may have started in
/// the population or used up the shared budget. The inner error is a conflict: the population changed after it was
/// read.
async fn start(
    coordinator: &Coordinator,
    task: &TaskRecord,
    input: TaskInput,
    next: TaskState,
) -> Result<Result<(), StorageError>, Refusal> {
    let standing = Standing::of(coordinator, task.organisation_id, &task.description.population).await?;
    check_start(coordinator, task, input, &standing).await?;
    Ok(coordinator.storage.start_task(task, next, &standing.admission()).await)
}

async fn check_start(
    coordinator: &Coordinator,
    task: &TaskRecord,
    input: TaskInput,
    standing: &Standing,
) -> Result<(), Refusal> {
    let verb = if input == TaskInput::Resume { "resumed" } else { "activated" };
    if let Some(fault) = standing.budget_fault(Some(task.id)) {
        return Err(match input {
            TaskInput::Resume => {
                let detail = format!("task {} cannot be {verb}: {fault}", task.id);
                Refusal::new(ErrorCode::PopulationStateConflict, detail)
            }
            _ => Refusal::faults(&[fault]),
        });
    }
    let first = coordinator.catalog.version(&coordinator.storage, task.id, 0).await?;
    let Some(passed) = standing.passed(task.id, &task.description, &first.making.ancestors)? else {
        return Ok(());
    };
    let (code, remedy) = match passed {
        Passed::Task { .. } => {
            let remedy = "Cancel it and create a task with a larger privacy.epsilon.".to_owned();
            (ErrorCode::TaskStateConflict, remedy)
        }
        Passed::Population { .. } => {
            let remedy =
                format!("Raise the budget with a reason ({}), or cancel the task.", standing.raise());
            (ErrorCode::PopulationStateConflict, remedy)
        }
        Passed::Unbounded => {
            let remedy = "Cancel it, and create a task whose privacy.kind is \"central\" or \"local\", with \
                 amplification = \"none\" where the population's unit is the user.";
            (ErrorCode::PopulationStateConflict, remedy.to_owned())
        }
    };
    Err(Refusal::new(code, format!("task {} cannot be {verb}: {passed}. {remedy}", task.id)))
}
