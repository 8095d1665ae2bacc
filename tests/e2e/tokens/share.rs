//! Tests the maximum share of one enrolment token in a round, with a complete coordinator, in rounds and in a flow.

use folkmoot_coordinator::round::Phase;
use folkmoot_storage::{AssignmentRepository, MemoryStorage, SqlOptions, SqlStorage, Storage};
use serde_json::{Value, json};

use crate::in_process::{Drawn, InProcess};

async fn databases() -> Vec<Storage> {
    let sqlite =
        SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.expect("the test made it so");
    vec![MemoryStorage::new().into(), sqlite.into()]
}

/// Creates a coordinator with thirty clients of one stolen token, and nine clients with a different token each.
async fn world(storage: impl Into<Storage>, combination: Value) -> InProcess {
    let mut world = InProcess::new(storage, 30, combination).await;
    for token in 1..=9 {
        world.enrol_by(&format!("token {token}"), 1).await;
    }
    world
}

fn of_the_stolen(drawn: &[Drawn]) -> usize {
    drawn.iter().filter(|one| one.client.token_id.as_deref() == Some("token")).count()
}

fn rounds_of(clients: u64) -> Value {
    json!({
        "kind": "synchronous", "report_goal": clients, "minimum_cohort": 2, "over_selection_factor": 1.0,
        "selection_deadline_seconds": 30,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cohort_has_no_more_of_a_token_than_its_share() {
    for storage in databases().await {
        let combination = json!({ "scheduling": rounds_of(10), "token_share_max": 0.2 });
        let world = world(storage, combination).await;
        let drawn = world.draw().await;
        assert_eq!(drawn.len(), 10);
        assert!((1..=2).contains(&of_the_stolen(&drawn)), "nine come by tokens of their own");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_share_one_token_is_most_of_a_cohort() {
    let world = world(MemoryStorage::new(), json!({ "scheduling": rounds_of(10) })).await;
    let drawn = world.draw().await;
    assert!(of_the_stolen(&drawn) > 2, "thirty of thirty-nine come by it");
}

/// Clients above their token's share must not be regarded as waiting. The round waits for other clients. At its
/// deadline, it draws only as many clients as the share allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_waits_for_clients_of_other_tokens() {
    for storage in databases().await {
        let combination = json!({ "scheduling": rounds_of(10), "token_share_max": 0.5 });
        let mut world = InProcess::new(storage, 30, combination).await;
        world.enrol_by("another", 3).await;
        assert!(world.draw().await.is_empty(), "of two tokens six can be drawn, and ten are wanted");
        assert!(matches!(world.rounds().await[0].round.phase, Phase::Selecting { .. }));
        world.pass(30);
        let drawn = world.draw().await;
        assert_eq!((drawn.len(), of_the_stolen(&drawn)), (6, 3));
    }
}

/// The share of a token is computed over clients in training and received updates together. So no commit contains more
/// than the share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_has_no_more_of_a_token_than_its_share() {
    for storage in databases().await {
        let scheduling = json!({ "kind": "buffered", "buffer_goal": 10, "concurrency": 12 });
        let world = world(storage, json!({ "scheduling": scheduling, "token_share_max": 0.3 })).await;
        let stolen = |one: &Drawn| one.client.token_id.as_deref() == Some("token");
        let mut most = 0;
        for turn in 0..40 {
            let drawn = world.draw().await;
            // The clients of the stolen token are always the fastest.
            let fastest = drawn.iter().find(|one| stolen(one)).or(drawn.first());
            let fastest = fastest.expect("somebody trains all the time");
            world.upload(fastest, &world.header(fastest).await).await.expect("the round takes it");
            let round = world.rounds().await.pop().expect("one is open").round.id;
            let counts = world.coordinator.storage.flow_tokens(world.task, round).await.expect("it is there");
            let of_one = counts.get(&Some("token".into())).copied().unwrap_or(0);
            assert!(of_one <= 3, "{counts:?} in turn {turn}");
            most = most.max(of_one);
        }
        assert_eq!(most, 3, "it has its share");
        let rounds = world.rounds().await;
        let committed = rounds.iter().filter(|record| matches!(record.round.phase, Phase::Committed { .. }));
        assert!(committed.count() >= 3);
    }
}
