//! Helpers for tests and benchmarks of this crate and others: a temporary PostgreSQL, and a check-in without its lock.

#[cfg(unix)]
mod postgres;

#[cfg(unix)]
pub use postgres::TestPostgres;

pub use crate::sql::check_in_without_lock;
