//! Tests of reading and writing whole tables, from one database to the other.

use std::collections::BTreeMap;

use folkmoot_protocol::{OrganisationId, Role, Timestamp};
use folkmoot_storage::{
    ApiKeyRecord, ApiKeyRepository, AssignmentRepository, DatabaseReader, PopulationRepository, SqlOptions,
    SqlStorage, StorageError, TableSchema, TableValue,
};
use folkmoot_test_postgres::TestPostgres;

use crate::conformance::flows;

type Rows = BTreeMap<String, Vec<Vec<TableValue>>>;

async fn read(url: &str) -> (Vec<TableSchema>, Rows) {
    let mut reader = DatabaseReader::open(url).await.unwrap();
    reader.begin_snapshot().await.unwrap();
    let tables = reader.tables().await.unwrap();
    let mut all = Rows::new();
    for table in &tables {
        let mut rows = Vec::new();
        let visited = reader.rows(table, |row| {
            rows.push(row);
            Ok::<_, StorageError>(())
        });
        visited.await.unwrap();
        assert_eq!(reader.has_rows(table).await.unwrap(), !rows.is_empty());
        rows.sort_by_key(|row| format!("{row:?}"));
        all.insert(table.name.clone(), rows);
    }
    reader.close().await;
    (tables, all)
}

async fn fill(url: &str) {
    let storage = SqlStorage::connect(url, SqlOptions::default()).await.unwrap();
    let id = OrganisationId::from_random_bytes([7; 16]);
    let organisation_id = storage.ensure_organisation("ours", id, Timestamp(i64::MAX as u64)).await.unwrap();
    let name = "digits".parse().unwrap();
    storage.ensure_population(organisation_id, &name, Timestamp(2)).await.unwrap();
    let key = ApiKeyRecord {
        id: "a1".parse().unwrap(),
        organisation_id,
        name: "Grüße, \"quoted\"\n\u{1}".into(),
        role: Role::Admin,
        secret_hash: [255; 32],
        created_at: Timestamp(0),
        expires_at: None,
        revoked_at: Some(Timestamp(3)),
        rotation: None,
        used_at: None,
    };
    storage.create_api_key(&key).await.unwrap();
    storage.close().await;
}

/// Writes rows as a backup does, through JSON.
async fn write(url: &str, rows: &Rows) -> Result<(), StorageError> {
    let storage = SqlStorage::connect(url, SqlOptions::default()).await.unwrap();
    let mut writer = storage.table_writer().await.unwrap();
    for table in writer.tables().await.unwrap() {
        let text = serde_json::to_string(&rows[&table.name]).unwrap();
        let rows: Vec<_> = serde_json::from_str(&text).unwrap();
        if !rows.is_empty() {
            writer.insert(&table, &rows).await?;
        }
    }
    writer.commit().await?;
    storage.close().await;
    Ok(())
}

#[tokio::test]
async fn rows_are_the_same_in_every_database() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] =
        ["from", "to"].map(|name| format!("sqlite://{}?mode=rwc", folder.path().join(name).display()));
    fill(&from).await;
    let (tables, rows) = read(&from).await;
    assert!(rows["organisations"].len() == 1 && rows["api_keys"].len() == 1, "{rows:?}");
    let position = |name: &str| tables.iter().position(|table| table.name == name).unwrap();
    assert!(position("organisations") < position("populations"));
    assert!(position("assignments") < position("client_updates"));

    write(&to, &rows).await.unwrap();
    assert_eq!(read(&to).await, (tables.clone(), rows.clone()));

    let Some(server) = TestPostgres::start() else { return };
    let url = server.database();
    write(&url, &rows).await.unwrap();
    assert_eq!(read(&url).await, (tables, rows));
}

#[tokio::test]
async fn a_row_that_does_not_fit_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] =
        ["from", "to"].map(|name| format!("sqlite://{}?mode=rwc", folder.path().join(name).display()));
    fill(&from).await;
    let (_, rows) = read(&from).await;
    for wrong in [vec![TableValue::Null], vec![TableValue::Bytes(vec![1]); rows["populations"][0].len()]] {
        let mut changed = rows.clone();
        changed.insert("populations".into(), vec![wrong]);
        assert!(matches!(write(&to, &changed).await, Err(StorageError::Corrupt { .. })));
    }
    let mut orphan = rows.clone();
    orphan.insert("organisations".into(), Vec::new());
    assert!(matches!(write(&to, &orphan).await, Err(StorageError::Database(_))));
    assert!(read(&to).await.1.values().all(Vec::is_empty));
}

/// In a flow, an update is stored in the log of its assignment's round, but may count in a later round.
#[tokio::test]
async fn an_open_update_comes_with_the_round_of_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let storage = SqlStorage::connect(&url, SqlOptions::default()).await.unwrap();
    let of_an_earlier_round = flows::an_update_that_finds_the_round_full_counts_in_the_next;
    of_an_earlier_round(&storage.clone().into()).await.unwrap();
    let mut reader = DatabaseReader::open(&url).await.unwrap();
    let updates = reader.open_updates().await.unwrap();
    reader.close().await;
    let needed = storage.needed_logs().await.unwrap();
    assert_eq!(updates.len(), 1);
    assert!(needed.contains(&(updates[0].round_id, updates[0].assignment_id)));
    storage.close().await;
}
