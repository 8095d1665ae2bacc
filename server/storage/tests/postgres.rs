//! Runs the conformance suite on PostgreSQL, and tests several processes on one database.

#![cfg(unix)]

use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_storage::{PopulationRepository, SqlOptions, SqlStorage};
use folkmoot_test_postgres::TestPostgres;

use crate::conformance;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_conforms() {
    let Some(server) = TestPostgres::start() else { return };
    let storage = SqlStorage::connect(&server.database(), SqlOptions::default()).await.unwrap();
    conformance::run(storage.clone()).await;
    storage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_start_at_once_migrate_once() {
    let Some(server) = TestPostgres::start() else { return };
    let url = server.database();
    let runners = (0..4u8).map(|number| {
        let url = url.clone();
        tokio::spawn(async move {
            let storage = SqlStorage::connect(&url, SqlOptions::default()).await?;
            let id = OrganisationId::from_random_bytes([number; 16]);
            let id = storage.ensure_organisation("one", id, Timestamp(0)).await;
            storage.close().await;
            id
        })
    });
    let mut ids = Vec::new();
    for runner in runners.collect::<Vec<_>>() {
        ids.push(runner.await.unwrap().unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_nonce_is_taken_once_by_whoever_comes_first_until_it_is_forgotten() {
    let Some(server) = TestPostgres::start() else { return };
    let url = server.database();
    let mut processes = Vec::new();
    for _ in 0..2 {
        let storage = SqlStorage::connect(&url, SqlOptions::default()).await.unwrap();
        processes.push(storage.shared_nonces().expect("processes share a PostgreSQL"));
    }
    let [one, other] = &processes[..] else { unreachable!("two were opened") };
    let (sender, start) = ([7; 16], Timestamp(1_000));
    for part in [0, 1, u64::MAX] {
        let takes = (one.take(sender, part, start), other.take(sender, part, start));
        let (by_one, by_other) = tokio::join!(takes.0, takes.1);
        assert!(by_one.unwrap() != by_other.unwrap(), "one of the two takes {part}");
        assert!(one.take([8; 16], part, start).await.unwrap(), "another sender's is another nonce");
    }
    assert_eq!(other.forget_before(start).await.unwrap(), 0);
    assert!(!one.take(sender, 0, start).await.unwrap());
    assert_eq!(other.forget_before(Timestamp(1_001)).await.unwrap(), 6);
    assert!(one.take(sender, 0, start).await.unwrap());
}
