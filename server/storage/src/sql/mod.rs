//! One implementation of every repository, for SQLite and PostgreSQL.
//!
//! The statements are the same for both databases. They use only numbered placeholders, `ON CONFLICT`, text, integers
//! and bytes. The differences, such as beginning a transaction or locking a row, are in `base/dialect.rs`.

mod api_key;
mod assignment;
mod audit;
mod base;
mod check_in;
mod client;
mod endorsement;
mod enrol;
mod evaluation;
mod lease;
mod ledger;
mod metrics;
mod model;
mod model_version;
mod monitor;
mod nonces;
mod organisation;
mod participation;
mod population;
mod private_tasks;
mod round;
mod rows;
mod secure;
mod session;
mod site;
mod task;
mod token;

pub(crate) use base::column::integer;
pub use base::{
    blobs::{BlobNames, KeptVersions},
    connect::SqlOptions,
    durability::Durability,
    inspection::{DatabasePlace, DatabaseReader, MigrationState},
    tables::{ColumnKind, OpenUpdate, SchemaVersion, TableColumn, TableSchema, TableValue, TableWriter},
};
use base::{
    column,
    dialect::{self, Dialect},
    many, page, transaction,
};
pub use nonces::SharedNonces;
use sqlx::AnyPool;

/// The repositories in a database: SQLite in a file or in memory, or PostgreSQL.
///
/// A clone is another handle to the same database.
#[derive(Clone, Debug)]
pub struct SqlStorage {
    dialect: Dialect,
    /// The durability of transactions that may not be lost.
    durability: Durability,
    /// Runs every writing transaction. SQLite has one writer at a time, so its pool has one connection.
    writer: AnyPool,
    /// Runs single read-only statements.
    reader: AnyPool,
}
