//! A temporary PostgreSQL for tests and benchmarks of this crate and others.

#[cfg(unix)]
mod postgres;
#[cfg(unix)]
pub use postgres::TestPostgres;
