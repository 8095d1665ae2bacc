//! Tests of the private parts of `src/sql/base/inspection.rs`.

use super::*;
use crate::{SqlOptions, SqlStorage};

/// Creates the tables in a new SQLite file, and in a new PostgreSQL if there is one. They live as long as the last value.
pub async fn new_databases() -> (Vec<String>, impl Sized) {
    let folder = tempfile::tempdir().unwrap();
    let mut urls = vec![format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display())];
    #[cfg(unix)]
    let server = folkmoot_test_postgres::TestPostgres::start();
    #[cfg(unix)]
    urls.extend(server.as_ref().map(folkmoot_test_postgres::TestPostgres::database));
    #[cfg(not(unix))]
    let server = ();
    for url in &urls {
        SqlStorage::connect(url, SqlOptions::default()).await.unwrap().close().await;
    }
    (urls, (folder, server))
}

fn all(migrator: &Migrator) -> Vec<Begun> {
    let begun = |version, checksum: &[u8]| Begun { version, checksum: checksum.to_vec(), is_finished: true };
    migrator.iter().map(|migration| begun(migration.version, &migration.checksum)).collect()
}

#[test]
fn every_difference_of_the_migrations_is_found() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let migrator = migrator(dialect);
        let known = migrator.iter().count();
        let newest = migrator.iter().map(|migration| migration.version).max().unwrap();
        let same = MigrationState { applied: known, known, ..MigrationState::default() };
        assert_eq!(compare(&all(&migrator), &migrator), same);

        let new = compare(&[], &migrator);
        assert_eq!((new.applied, new.pending.len()), (0, known));

        let mut begun = all(&migrator);
        begun[0].checksum = b"other".to_vec();
        begun[1].is_finished = false;
        begun.pop();
        begun.push(Begun { version: newest + 7, checksum: Vec::new(), is_finished: true });
        let state = compare(&begun, &migrator);
        assert_eq!((state.applied, state.known), (known - 1, known));
        assert_eq!((state.changed, state.unfinished), (vec![1], vec![2]));
        assert_eq!((state.pending, state.unknown), (vec![newest], vec![newest + 7]));
    }
}

#[test]
fn a_file_is_opened_for_reading() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let url = format!("sqlite://{}", file.display());
    assert_eq!(reading(&format!("{url}?mode=rwc")).unwrap(), format!("{url}?mode=ro&immutable=1"));
    std::fs::write(log_of(&file), "").unwrap();
    let shared = format!("{url}?cache=private&mode=rwc&immutable=1");
    assert_eq!(reading(&shared).unwrap(), format!("{url}?cache=private&mode=ro"));
    assert!(reading("sqlite://a.db?mode=w").is_err());
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let (urls, _servers) = new_databases().await;
    for url in urls {
        let mut reader = DatabaseReader::open(&url).await.unwrap();
        let write = sqlx::query("DELETE FROM organisations").execute(&mut reader.connection).await;
        assert!(write.is_err(), "it can write");
    }
}
