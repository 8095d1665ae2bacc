//! Coordinators that share a database must share their blobs, too.

use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig, HostError};
use folkmoot_test_postgres::TestPostgres;

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_with_its_own_folder_does_not_join_another_one() {
    let Some(postgres) = TestPostgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = postgres.database();
    let start = |name: &str| {
        let mut config = HostConfig::loopback(folder.path().join(name));
        config.database = Some(database.clone());
        Host::start(config, clock::system_clock(), clock::system_chance(), None)
    };
    let first = start("first").await.unwrap();
    let error = start("second").await.err().expect("the second one cannot read the models of the first one");
    assert!(matches!(error, HostError::OtherPlace { .. }), "{error}");
    assert!(error.to_string().contains("storage.objects"), "{error}");
    first.stop().await.unwrap();
    // Nobody else uses the database any more.
    start("second").await.unwrap().stop().await.unwrap();
}
