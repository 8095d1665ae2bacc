use std::borrow::Cow;

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

use super::dialect::Dialect;

/// Lists the migrations of one database: its folder, then each file name without its extension.
///
/// A macro of sqlx does the same, but it would also compile SQLite, a TLS stack and an async runtime for the build.
macro_rules! migrations {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../migrations/", $folder, "/", $name, ".sql")))),+]
    };
}

const SQLITE: &[(&str, &str)] = migrations!("sqlite":
    "0001_initial",
    "0002_flows",
    "0003_privacy",
    "0004_codecs",
    "0005_users",
    "0006_console",
    "0007_ledger_events",
    "0008_token_lineage",
    "0009_evaluation_metrics",
    "0010_audit_log",
    "0011_organisations",
    "0012_key_expiry",
    "0013_endorsements",
    "0014_people",
    "0015_usage",
    "0016_jwt_keys",
    "0017_renewal",
    "0018_update_place",
    "0019_secure_messages",
    "0020_names_and_sites",
    "0021_selection_states",
    "0022_notices",
    "0023_key_rotation",
    "0024_viewers_download",
    "0025_rollouts",
    "0026_edge_aggregators",
    "0027_dropped_versions",
);

const POSTGRES: &[(&str, &str)] = migrations!("postgres":
    "0001_initial",
    "0002_flows",
    "0003_privacy",
    "0004_codecs",
    "0005_users",
    "0006_console",
    "0007_ledger_events",
    "0008_token_lineage",
    "0009_nonces",
    "0010_evaluation_metrics",
    "0011_audit_log",
    "0012_organisations",
    "0013_key_expiry",
    "0014_endorsements",
    "0015_people",
    "0016_usage",
    "0017_jwt_keys",
    "0018_renewal",
    "0019_processes",
    "0020_secure_messages",
    "0021_names_and_sites",
    "0022_selection_states",
    "0023_notices",
    "0024_key_rotation",
    "0025_viewers_download",
    "0026_rollouts",
    "0027_edge_aggregators",
    "0028_dropped_versions",
);

/// Returns the migrations of a database, oldest first. The database stores the SHA-384 of each migration that it has
/// run.
pub(in crate::sql) fn migrator(dialect: Dialect) -> Migrator {
    let files = match dialect {
        Dialect::Sqlite => SQLITE,
        Dialect::Postgres => POSTGRES,
    };
    Migrator::with_migrations(files.iter().map(|(name, sql)| migration(name, sql)).collect())
}

fn migration(name: &'static str, sql: &'static str) -> Migration {
    let (version, description) = name.split_once('_').expect("a name is a number, an underscore and words");
    let version = version.parse().expect("a name begins with a number");
    let description = Cow::Owned(description.replace('_', " "));
    Migration::new(version, description, MigrationType::Simple, sql.into_sql_str(), false)
}

#[cfg(test)]
#[path = "../../../tests/unit/migrations.rs"]
mod tests;
