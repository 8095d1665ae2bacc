//! Tests several processes on one PostgreSQL database.

#![cfg(unix)]

use folkmoot_processes::{ProcessRecord, ProcessTable};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{LeaseRepository, SqlOptions, SqlStorage};
use folkmoot_test_postgres::TestPostgres;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_know_each_other_and_hear_what_another_one_says() {
    let Some(server) = TestPostgres::start() else { return };
    let storage = SqlStorage::connect(&server.database(), SqlOptions::default()).await.unwrap();
    let table = ProcessTable::of(&storage).expect("processes share a PostgreSQL");
    let process = |id: &str| ProcessRecord {
        id: id.into(),
        start_id: format!("{id}-1"),
        place: "s3://bucket/prefix".into(),
        version: "1.0.0".into(),
    };
    let (one, other) = (process("one"), process("other"));
    assert_eq!(table.living().await.unwrap(), []);
    assert_eq!(table.beat(&one).await.unwrap(), std::slice::from_ref(&one));
    assert_eq!(table.beat(&other).await.unwrap(), [one.clone(), other.clone()]);
    let started_again = ProcessRecord { start_id: "one-2".into(), ..one.clone() };
    assert_eq!(table.beat(&started_again).await.unwrap(), [started_again, other.clone()]);

    let (now, until) = (Timestamp(1), Timestamp(10_000));
    assert!(storage.acquire_lease("task/a", "one", now, until).await.unwrap());
    table.beat(&other).await.unwrap();
    assert!(!storage.acquire_lease("task/a", "other", now, until).await.unwrap(), "its holder lives");

    let mut listener = table.listen().await.unwrap();
    table.send("hello").await.unwrap();
    assert_eq!(listener.next().await.unwrap().as_deref(), Some("hello"));
    table.leave("one").await.unwrap();
    assert_eq!(table.living().await.unwrap(), [other]);
    storage.close().await;
}
