//! Tests of draws by a selection of the task's own: a component that prefers the clients that have started least often.

use folkmoot_coordinator::task::PauseReason;
use folkmoot_storage::AssignmentRepository;

use super::*;

const STRANGE: &[u8] = include_bytes!("../../../../tests/strategies/strange.wasm");
/// The size of a cohort. A quarter of the clients, so each starts once in four rounds.
const COHORT: u64 = 3;

/// Returns the keys of a task with this selection. Privacy and amplification are for other tests.
fn keys(settings: &str) -> Value {
    let digest = folkmoot_protocol::BlobDigest::of(STRANGE);
    json!({
        "selection": {
            "kind": "component", "component": digest, "settings": settings, "fuel_max": 20_000_000,
        },
        "scheduling": {
            "kind": "synchronous", "report_goal": COHORT, "minimum_cohort": COHORT,
            "over_selection_factor": 1.0, "selection_deadline_seconds": SELECTION_SECONDS,
            "reporting_deadline_seconds": REPORTING_SECONDS,
        },
        "privacy": { "kind": "none" },
        "abandoned_rounds_max": 100,
    })
}

impl World {
    /// Returns the clients that each round has drawn, in no order.
    pub(super) async fn cohorts(&self) -> Vec<Vec<ClientId>> {
        let mut cohorts = Vec::new();
        for record in self.rounds().await {
            let assignments = self.coordinator.storage.assignments(record.round.id).await.unwrap();
            let mut clients: Vec<ClientId> = assignments.iter().map(|one| one.client_id).collect();
            clients.sort();
            cohorts.push(clients);
        }
        cohorts.retain(|clients| !clients.is_empty());
        cohorts
    }

    /// Lets all clients check in once for each of the `rounds`, and runs the drivers.
    async fn drive_rounds(&self, rounds: std::ops::Range<u64>) {
        for round in rounds {
            self.drive(round * (REPORTING_SECONDS + 1), CLIENTS).await;
        }
    }

    async fn selection_state(&self) -> Vec<u8> {
        self.coordinator.storage.selection_state(self.task).await.unwrap()
    }
}

#[tokio::test]
async fn a_component_draws_and_keeps_its_state_in_the_database() {
    let mut world = World::of(keys(""), &[STRANGE]).await;
    assert!(world.selection_state().await.is_empty());
    world.drive_rounds(0..4).await;
    let first = world.cohorts().await;
    let mut all: Vec<ClientId> = first.concat();
    all.sort();
    let everyone: Vec<ClientId> = world.clients.iter().map(|client| client.id).collect();
    assert_eq!((first.len(), all), (4, everyone), "in four rounds, each client starts once");
    assert_eq!(world.selection_state().await, [1; 4], "it counts its draws");
    // Another process takes over. Its random numbers differ, but the clients' keys and their order are the same.
    let Coordinator { storage, blobs, .. } = &*world.coordinator;
    let chance = ChaCha20Rng::seed_from_u64(2);
    let other = Coordinator::new(storage.clone(), blobs.clone(), RoundLog::in_memory(), chance);
    world.coordinator = Arc::new(other);
    world.drive_rounds(4..8).await;
    let cohorts = world.cohorts().await;
    assert_eq!((&cohorts[..4], &cohorts[4..]), (&first[..], &first[..]));
    assert_eq!(world.selection_state().await, [1; 8]);
}

#[tokio::test]
async fn a_flow_fills_its_places_by_the_component() {
    let mut keys = keys("");
    keys["scheduling"] = json!({ "kind": "buffered", "buffer_goal": 3, "concurrency": 5 });
    let world = World::of(keys, &[STRANGE]).await;
    world.drive(0, CLIENTS).await;
    let cohorts = world.cohorts().await;
    assert_eq!(cohorts.iter().map(Vec::len).collect::<Vec<_>>(), [5]);
    assert_eq!(world.selection_state().await, [1]);
    world.drive(1, CLIENTS).await;
    assert_eq!(world.selection_state().await, [1], "there is no free place, so nothing is drawn");
}

#[tokio::test]
async fn a_component_that_fails_pauses_its_task_at_once() {
    for (settings, before) in [
        ("select:twice", 0),
        ("select:stranger", 0),
        ("select:loop", 0),
        ("select:panic", 0),
        ("select:state", 0),
        ("select:fail later", 2),
    ] {
        let world = World::of(keys(settings), &[STRANGE]).await;
        world.drive_rounds(0..before + 2).await;
        let reasons: Vec<_> =
            world.rounds().await.iter().map(|record| record.round.phase.outcome().reason).collect();
        let drawn = vec![Some(AbandonReason::TooFewReports); before as usize];
        assert_eq!(reasons, [drawn, vec![Some(AbandonReason::SelectionFailed)]].concat(), "{settings}");
        let TaskState::Paused { reason, .. } = world.task().await.state else {
            panic!("{settings}: it pauses")
        };
        let rounds = before + 1;
        assert_eq!(reason, Some(PauseReason::FailedSelections { rounds, last_round: rounds }), "{settings}");
        assert_eq!(world.cohorts().await.len() as u64, before, "{settings}: a failed draw starts nobody");
        assert_eq!(world.selection_state().await.len() as u64, before, "{settings}: and keeps nothing");
    }
}

#[tokio::test]
async fn a_flow_whose_component_fails_is_paused_too() {
    let mut keys = keys("select:panic");
    keys["scheduling"] = json!({ "kind": "buffered", "buffer_goal": 3, "concurrency": 5 });
    let world = World::of(keys, &[STRANGE]).await;
    world.drive(0, CLIENTS).await;
    let TaskState::Paused { reason, .. } = world.task().await.state else { panic!("it pauses") };
    assert_eq!(reason, Some(PauseReason::FailedSelections { rounds: 1, last_round: 1 }));
    assert_eq!(world.cohorts().await, [[]; 0]);
}

#[tokio::test]
async fn a_component_that_prefers_nobody_waits_until_the_deadline() {
    let world = World::of(keys("select:nobody"), &[STRANGE]).await;
    for seconds in [0, SELECTION_SECONDS - 1, SELECTION_SECONDS] {
        world.drive(seconds, CLIENTS).await;
    }
    let rounds = world.rounds().await;
    let ends: Vec<_> = rounds.iter().map(|record| record.round.phase.outcome().reason).collect();
    assert_eq!(ends, [Some(AbandonReason::TooFewClients), None]);
    assert_eq!(world.cohorts().await, [[]; 0]);
}
