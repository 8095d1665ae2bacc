//! Tests of the private parts of `src/sql/base/blobs.rs`.

use std::collections::BTreeSet;

use super::*;
use crate::{TableColumn, sql::base::inspection::tests::new_databases};

/// The columns that are searched. If this list changes, decide whether the new column names blobs. If it never does and has
/// very many rows, add it to `SILENT`; otherwise add it here.
const SEARCHED: &str = "api_keys.id api_keys.name api_keys.organisation_id api_keys.role \
    audit_heads.digest audit_heads.organisation_id endorsements.organisation_id endorsements.signed endorsements.task_id \
    leases.holder leases.name models.model models.weights organisation_usage.organisation_id organisations.id \
    organisations.name organisations.quotas partial_sums.aggregator partial_sums.answer partial_sums.organisation_id \
    partial_sums.question partial_sums.round_id partial_sums.segment populations.clients populations.name populations.organisation_id \
    populations.privacy rollouts.channel rollouts.held rollouts.last_failure rollouts.organisation_id rollouts.population \
    rollouts.task_id selection_states.organisation_id selection_states.task_id sessions.api_key_id sessions.id \
    sessions.name sessions.organisation_id sessions.provider sessions.role sessions.subject \
    site_activity.attributes site_activity.client_id site_activity.failure site_activity.organisation_id \
    site_activity.sdk_version tasks.description tasks.evaluation_data tasks.evaluation_plan tasks.model tasks.plan \
    tokens.id tokens.jwt_keys tokens.name tokens.organisation_id tokens.population \
    tokens.user_key unreleased.blobs unreleased.round_id";

#[tokio::test]
async fn every_column_is_searched_or_known_to_be_silent() {
    let (urls, _servers) = new_databases().await;
    for url in urls {
        let mut reader = DatabaseReader::open(&url).await.unwrap();
        let tables = reader.tables().await.unwrap();
        let of_table = |table: &TableSchema| -> Vec<String> {
            naming(table).into_iter().map(|column| format!("{}.{column}", table.name)).collect()
        };
        let searched: BTreeSet<String> = tables.iter().flat_map(of_table).collect();
        let is_shared = |column: &&String| !column.starts_with("processes.");
        let shared: Vec<&str> = searched.iter().filter(is_shared).map(String::as_str).collect();
        assert_eq!(shared, SEARCHED.split_whitespace().collect::<Vec<_>>());
        for (table, silent) in SILENT {
            let columns = &tables.iter().find(|one| one.name == table).unwrap().columns;
            for name in silent.split(' ') {
                let is_text = |column: &_| matches!(column, TableColumn { name: one, kind: ColumnKind::Text } if one == name);
                assert!(columns.iter().any(is_text), "{table}.{name}");
            }
        }
    }
}

#[test]
fn digests_are_found_in_any_text() {
    let [one, other] = [BlobDigest::of(b"one"), BlobDigest::of(b"other")];
    let text = format!(r#"[{{"digest":"{one}"}},"{other}","{one}0","abc"]"#);
    assert_eq!(digests(&text).collect::<Vec<_>>(), [one, other]);
}
