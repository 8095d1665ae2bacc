//! The conformance suite on SQLite in a file, and what only a file has.

use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_storage::{Durability, PopulationRepository, SqlOptions, SqlStorage, StorageError, conformance};

fn url(folder: &tempfile::TempDir) -> String {
    format!("sqlite://{}?mode=rwc", folder.path().join("coordinator.sqlite").display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_on_file_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    conformance::run(&storage).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_conforms_with_normal_durability() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqlOptions { durability: Durability::Normal, connections_max: 1, ..SqlOptions::default() };
    let storage = SqlStorage::connect(&url(&folder), options).await.unwrap();
    conformance::run(&storage).await;
}

/// As when the command line looks into the database of a running coordinator.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_share_a_file_and_a_third_finds_it_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut storages = Vec::new();
    for _ in 0..2 {
        storages.push(SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap());
    }
    let runners = (0..50u8).map(|number| {
        let storage = storages[usize::from(number) % 2].clone();
        tokio::spawn(async move {
            let id = OrganisationId::from_random_bytes([number; 16]);
            storage.ensure_organisation(&format!("{number}"), id, Timestamp(0)).await
        })
    });
    for runner in runners.collect::<Vec<_>>() {
        runner.await.unwrap().unwrap();
    }
    for storage in storages {
        storage.close().await;
    }
    let storage = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    storage.ping().await.unwrap();
    let first = OrganisationId::from_random_bytes([0; 16]);
    let other = OrganisationId::from_random_bytes([99; 16]);
    assert_eq!(storage.ensure_organisation("0", other, Timestamp(0)).await.unwrap(), first);
}

#[tokio::test]
async fn a_url_of_another_database_is_refused_without_its_password() {
    let refused = SqlStorage::connect("mysql://me:secret@host/name", SqlOptions::default()).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("begins with") && !message.contains("secret"), "{message}");
    let missing = SqlStorage::connect("sqlite:///nowhere/at/all.sqlite", SqlOptions::default()).await;
    assert!(matches!(missing, Err(StorageError::Database(_))));
}
