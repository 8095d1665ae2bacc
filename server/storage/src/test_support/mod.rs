//! Help for tests, of this crate and of others: a PostgreSQL of their own.

#[cfg(unix)]
mod postgres;

#[cfg(unix)]
pub use postgres::TestPostgres;
