//! Tests rounds whose updates cannot be combined. They must end with an error code, and the task must continue.

use folkmoot_coordinator::{
    round::{AbandonReason, Phase},
    task::{PauseReason, TaskInput, TaskState},
};
use folkmoot_storage::{
    MemoryStorage, ModelVersionRepository, SqlOptions, SqlStorage, Storage, TaskRepository,
};
use serde_json::{Value, json};

use crate::in_process::InProcess;

const CLIENTS: u8 = 3;

/// Creates a task with a median. Its aggregator reads the updates from the round log and fails if one is missing.
async fn world(storage: impl Into<Storage>) -> InProcess {
    world_of(storage, json!({})).await
}

/// Creates the same task with additional keys in its description.
async fn world_of(storage: impl Into<Storage>, keys: Value) -> InProcess {
    let scheduling = json!({
        "kind": "synchronous", "report_goal": CLIENTS, "minimum_cohort": CLIENTS, "over_selection_factor": 1.0,
        "reporting_deadline_seconds": 60,
    });
    let mut combination = json!({ "scheduling": scheduling, "aggregator": { "kind": "median" } });
    let parts = keys.as_object().expect("they are a table").clone();
    combination.as_object_mut().expect("it is one").extend(parts);
    InProcess::new(storage, CLIENTS, combination).await
}

async fn databases() -> Vec<Storage> {
    let sqlite =
        SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.expect("the test made it so");
    vec![MemoryStorage::new().into(), sqlite.into()]
}

/// Draws all clients and uploads their updates.
async fn report(world: &InProcess) -> Vec<crate::in_process::Drawn> {
    let drawn = world.draw().await;
    assert_eq!(drawn.len(), usize::from(CLIENTS));
    for one in &drawn {
        world.upload(one, &world.header(one).await).await.expect("the test made it so");
    }
    drawn
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_whose_updates_are_lost_ends_with_a_code_and_the_task_goes_on() {
    for storage in databases().await {
        let world = world(storage).await;
        let drawn = report(&world).await;
        world.lose(&drawn[1].assignment);
        world.drive().await.expect("what cannot be combined does not stop the task");
        let rounds = world.rounds().await;
        let expected = Phase::Abandoned { at: world.now(), reason: AbandonReason::CommitFailed };
        assert_eq!(rounds[0].round.phase, expected);
        assert_eq!(serde_json::to_value(AbandonReason::CommitFailed).unwrap(), "commit_failed");

        report(&world).await;
        world.drive().await.expect("the next round commits");
        let newest = world.coordinator.storage.latest_model_version(world.task).await.unwrap().unwrap();
        assert_eq!(newest.number, 1);
    }
}

/// A broken disk would lose the updates of every round. Without the pause, clients would train in vain forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_commits_fail_again_and_again_pauses() {
    for storage in databases().await {
        let world = world_of(storage, json!({ "abandoned_rounds_max": 3 })).await;
        for failed in 1..=3 {
            let drawn = report(&world).await;
            world.lose(&drawn[0].assignment);
            assert!(world.task().await.state.is_active(), "after {} rounds", failed - 1);
            world.drive().await.expect("what cannot be combined does not stop the drivers");
        }
        let paused = world.task().await;
        let reason = PauseReason::FailedCommits { rounds: 3, last_round: 3 };
        assert_eq!(paused.state, TaskState::Paused { reason: Some(reason), after_round: 3 });
        assert_eq!(world.rounds().await.len(), 3, "no client trains any more");
        let state = paused.state.step(TaskInput::Resume).unwrap();
        world.coordinator.storage.set_task_state(paused.id, state, paused.revision).await.unwrap();
        report(&world).await;
        world.drive().await.expect("the next round commits");
        let newest = world.coordinator.storage.latest_model_version(world.task).await.unwrap().unwrap();
        assert_eq!(newest.number, 1, "it counts from zero");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_cancelled_ends_with_such_a_round() {
    for storage in databases().await {
        let world = world(storage).await;
        let drawn = report(&world).await;
        world.lose(&drawn[0].assignment);
        assert!(world.step().await.unwrap(), "the round closes");
        assert!(matches!(world.rounds().await[0].round.phase, Phase::Aggregating { .. }));
        let task = world.task().await;
        let state = task.state.step(TaskInput::Cancel).unwrap();
        world.coordinator.storage.set_task_state(task.id, state, task.revision).await.unwrap();
        world.drive().await.expect("a task that is over is at rest");
        let rounds = world.rounds().await;
        assert!(rounds.iter().all(|record| record.round.phase.is_final()), "{rounds:?}");
        assert_eq!(world.task().await.state, TaskState::Cancelled);
    }
}
