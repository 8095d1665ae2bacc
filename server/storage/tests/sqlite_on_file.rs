//! Runs the conformance suite on SQLite in a file, and tests that need a file.

use folkmoot_protocol::{ClientId, OrganisationId, Timestamp};
use folkmoot_storage::{
    ClientRepository, Durability, EnrolOutcome, PopulationRepository, SqlOptions, SqlStorage, StorageError,
    TokenRecord, TokenRepository,
};

use crate::conformance;

fn url(folder: &tempfile::TempDir) -> String {
    format!("sqlite://{}?mode=rwc", folder.path().join("coordinator.sqlite").display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_on_file_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    conformance::run(storage).await;
}

/// The checksum of the first migration, as earlier releases stored it: `sha384sum migrations/sqlite/0001_initial.sql`.
#[tokio::test]
async fn a_migration_is_what_earlier_releases_stored() {
    use sqlx::Connection;
    let folder = tempfile::tempdir().unwrap();
    SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap().close().await;
    let mut connection = sqlx::AnyConnection::connect(&url(&folder)).await.unwrap();
    let query = "SELECT description, lower(hex(checksum)) FROM _sqlx_migrations WHERE version = 1";
    let first: (String, String) = sqlx::query_as(query).fetch_one(&mut connection).await.unwrap();
    let checksum =
        "e99bc57f4ee5a0b0bc931f39e1e16d27b3ca8b0f955d310b61652b5f374538aa233828be0137e634d1be28cff8a0e2f0";
    assert_eq!(first, ("initial".to_owned(), checksum.to_owned()));
}

/// A database whose file is full, and one that has gone, are unavailable. A wrong statement is not.
#[tokio::test]
async fn a_full_database_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    let missing = format!("sqlite://{}", folder.path().join("no/a.db").display());
    let missing = SqlStorage::connect(&missing, SqlOptions::default());
    assert!(missing.await.err().is_some_and(|error| error.is_unavailable()));
    storage.close().await;
    let mut connection = <sqlx::AnyConnection as sqlx::Connection>::connect(&url(&folder)).await.unwrap();
    sqlx::raw_sql("PRAGMA max_page_count = 1").execute(&mut connection).await.unwrap();
    let fill = "CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) \
        SELECT randomblob(10000) FROM n";
    let full = StorageError::from(sqlx::raw_sql(fill).execute(&mut connection).await.unwrap_err());
    assert!(full.is_unavailable(), "{full}");
    let wrong = StorageError::from(sqlx::raw_sql("SELEKT").execute(&mut connection).await.unwrap_err());
    assert!(!wrong.is_unavailable(), "{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_conforms_with_normal_durability() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqlOptions { durability: Durability::Normal, connections_max: 1, ..SqlOptions::default() };
    let storage = SqlStorage::connect(&url(&folder), options).await.unwrap();
    conformance::run(storage).await;
}

/// The command line opens the same file when it reads the database of a running coordinator. An enrolment reads before
/// it writes. It must not fail if the other process wrote in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_share_a_file_and_a_third_finds_it_later() {
    let folder = tempfile::tempdir().unwrap();
    let first = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    let second = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    let token = token(&first).await.unwrap();
    let runners = (0..100u8).map(|number| {
        let storage = if number % 2 == 0 { first.clone() } else { second.clone() };
        tokio::spawn(async move {
            let id = ClientId::from_random_bytes([number; 16]);
            storage.enrol("token", &format!("key {number}"), id, Timestamp(0)).await
        })
    });
    for runner in runners.collect::<Vec<_>>() {
        assert!(matches!(runner.await.unwrap().unwrap(), EnrolOutcome::Enrolled(_)));
    }
    first.close().await;
    second.close().await;
    let third = SqlStorage::connect(&url(&folder), SqlOptions::default()).await.unwrap();
    assert_eq!(third.token("token").await.unwrap(), Some(TokenRecord { uses: 100, ..token }));
}

async fn token(storage: &SqlStorage) -> Result<TokenRecord, StorageError> {
    let now = Timestamp(0);
    let id = OrganisationId::from_random_bytes([0; 16]);
    let organisation_id = storage.ensure_organisation("one", id, now).await?;
    let name = "digits".parse().expect("it is a population's name");
    let population = storage.ensure_population(organisation_id, &name, now).await?.name;
    let token = TokenRecord::unlimited("token", organisation_id, population, now);
    storage.create_token(&token).await?;
    Ok(token)
}

#[tokio::test]
async fn a_url_of_another_database_is_refused_without_its_password() {
    let refused = SqlStorage::connect("mysql://me:secret@host/name", SqlOptions::default()).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("begins with") && !message.contains("secret"), "{message}");
    let missing = SqlStorage::connect("sqlite:///nowhere/at/all.sqlite", SqlOptions::default()).await;
    assert!(matches!(missing, Err(StorageError::Database(_))));
}
