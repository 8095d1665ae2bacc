//! Tests of the reader of databases.

use std::{collections::BTreeMap, path::Path};

use folkmoot_protocol::Timestamp;
use folkmoot_storage::{DatabasePlace, DatabaseReader, SqlOptions, SqlStorage};
use sqlx::Connection;

#[test]
fn a_url_tells_the_place() {
    let place = |url| DatabasePlace::of(url).unwrap();
    assert_eq!(place("sqlite://folder/a%20b.db?mode=rwc"), DatabasePlace::File("folder/a b.db".into()));
    assert_eq!(place("sqlite::memory:"), DatabasePlace::Memory);
    assert_eq!(place("postgres://ada@db/x"), DatabasePlace::Server);
    assert!(DatabasePlace::of("mysql://ada@db/x").is_err());
}

/// Lists the files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect()
}

#[tokio::test]
async fn a_log_that_a_crash_has_left_is_read_and_stays() {
    let [folder, copy] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let url = |folder: &Path| format!("sqlite://{}?mode=rwc", folder.join("a.db").display());
    let storage = SqlStorage::connect(&url(folder.path()), SqlOptions::default()).await.unwrap();
    for name in ["a.db", "a.db-wal"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let before = contents(copy.path());
    assert!(!before[std::ffi::OsStr::new("a.db-wal")].is_empty(), "there is a log");
    let mut reader = DatabaseReader::open(&url(copy.path())).await.unwrap();
    assert_eq!(reader.migrations().await.unwrap().pending.len(), 0);
    reader.close().await;
    let mut after = contents(copy.path());
    after.remove(std::ffi::OsStr::new("a.db-shm"));
    assert!(after == before, "a file has changed");
    storage.close().await;
}

#[tokio::test]
async fn a_damaged_file_has_faults() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    SqlStorage::connect(&url, SqlOptions::default()).await.unwrap().close().await;
    let mut bytes = std::fs::read(&file).unwrap();
    // The schema stays readable.
    let mut database = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'rounds'";
    let (root,): (i64,) = sqlx::query_as(root).fetch_one(&mut database).await.unwrap();
    database.close().await.unwrap();
    let page = (root as usize - 1) * 4096;
    bytes[page..page + 4096].fill(0xee);
    std::fs::write(&file, bytes).unwrap();
    let mut reader = DatabaseReader::open(&url).await.unwrap();
    assert!(!reader.faults().await.unwrap().is_empty());

    std::fs::write(&file, "no database at all").unwrap();
    let mut reader = DatabaseReader::open(&url).await;
    let is_refused = match &mut reader {
        Ok(reader) => reader.migrations().await.is_err(),
        Err(_) => true,
    };
    assert!(is_refused);
}

#[tokio::test]
async fn a_look_at_sqlite_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    assert!(DatabaseReader::open(&url).await.is_err());
    assert!(contents(folder.path()).is_empty());

    let storage = SqlStorage::connect(&url, SqlOptions::default()).await.unwrap();
    // The file is in use.
    let mut reader = DatabaseReader::open(&url).await.unwrap();
    assert_eq!(reader.migrations().await.unwrap().pending.len(), 0);
    reader.close().await;
    storage.close().await;

    let before = contents(folder.path());
    let mut reader = DatabaseReader::open(&url).await.unwrap();
    assert!(reader.version().await.unwrap().starts_with("SQLite 3."));
    assert_eq!(reader.faults().await.unwrap(), Vec::<String>::new());
    assert_eq!(reader.now().await.unwrap(), None);
    assert_eq!(reader.newest_blobs(5).await.unwrap(), []);
    let state = reader.migrations().await.unwrap();
    assert_eq!((state.applied, state.pending.len()), (state.known, 0));
    reader.close().await;
    assert_eq!(contents(folder.path()), before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_look_at_postgres_changes_nothing() {
    let Some(server) = folkmoot_test_postgres::TestPostgres::start() else { return };
    let url = server.database();
    let mut reader = DatabaseReader::open(&url).await.unwrap();
    let state = reader.migrations().await.unwrap();
    assert_eq!((state.applied, state.pending.len()), (0, state.known));
    assert!(reader.newest_blobs(5).await.is_err(), "there are no tables");

    SqlStorage::connect(&url, SqlOptions::default()).await.unwrap().close().await;
    let state = reader.migrations().await.unwrap();
    assert_eq!((state.applied, state.pending.len()), (state.known, 0));
    assert!(reader.version().await.unwrap().starts_with("PostgreSQL "));
    assert!(reader.now().await.unwrap().unwrap() > Timestamp(1_672_531_200_000), "it is after 2022");
    assert_eq!(reader.newest_blobs(5).await.unwrap(), []);
    reader.close().await;
}
