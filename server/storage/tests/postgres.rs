//! The conformance suite on PostgreSQL, and what several processes at one database do.

#![cfg(unix)]

use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_storage::{
    PopulationRepository, SqlOptions, SqlStorage, conformance, test_support::TestPostgres,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_conforms() {
    let Some(server) = TestPostgres::start() else { return };
    let storage = SqlStorage::connect(&server.database(), SqlOptions::default()).await.unwrap();
    storage.ping().await.unwrap();
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
