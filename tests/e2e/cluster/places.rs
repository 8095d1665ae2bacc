//! Coordinators that share a database must share their blobs, too.

use bytes::Bytes;
use folkmoot_objects::{AsideBlob, Objects};
use folkmoot_protocol::{OrganisationId, Timestamp};
use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig, HostError};
use folkmoot_test_postgres::TestPostgres;
use folkmoot_tests::test_s3::TestS3;

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

/// The collection renames blobs, and a rename in an object storage is a copy and a deletion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_set_aside_comes_back_from_an_object_storage() {
    let s3 = TestS3::start().await;
    let open = || Objects::open(&s3.url(), s3.os_variables()).expect("the URL is right").blobs();
    let (one, other) = (open(), open());
    let database = OrganisationId::from_random_bytes([1; 16]);
    one.note_database(database).await.expect("the server runs");
    let blob = one.put(Bytes::from_static(b"weights")).await.expect("the server runs");
    assert!(one.set_aside(blob, Timestamp(7)).await.expect("the server runs"));
    assert!(!one.set_aside(blob, Timestamp(8)).await.expect("the server runs"));
    let inventory = other.inventory().await.expect("the server runs");
    assert_eq!((inventory.stored, inventory.databases), (Vec::new(), [database].into()));
    assert_eq!(inventory.aside, [AsideBlob { digest: blob, bytes: 7, since: Timestamp(7) }]);
    assert_eq!(other.get(blob).await.expect("it comes back"), b"weights".as_slice());
    one.delete_aside(blob, Timestamp(7)).await.expect("the server runs");
    assert!(one.exists(blob).await.expect("the server runs"));
    one.delete(blob).await.expect("the server runs");
    assert!(!other.exists(blob).await.expect("the server runs"), "the cache does not answer");
}
