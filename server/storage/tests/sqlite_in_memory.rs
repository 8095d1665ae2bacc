//! Runs the conformance suite on SQLite in memory.

use folkmoot_storage::{SqlOptions, SqlStorage};

use crate::conformance;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_in_memory_conforms() {
    let storage = SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.unwrap();
    conformance::run(storage).await;
}

#[tokio::test]
async fn two_databases_in_memory_are_two() {
    use folkmoot_protocol::{OrganisationId, Timestamp};
    use folkmoot_storage::PopulationRepository;
    for byte in [1, 2] {
        let storage = SqlStorage::connect("sqlite::memory:", SqlOptions::default()).await.unwrap();
        let id = OrganisationId::from_random_bytes([byte; 16]);
        assert_eq!(storage.ensure_organisation("one", id, Timestamp(0)).await.unwrap(), id);
    }
}
