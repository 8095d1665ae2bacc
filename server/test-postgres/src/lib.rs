#![doc = include_str!("../README.md")]

#[cfg(unix)]
mod postgres;

#[cfg(unix)]
pub use postgres::TestPostgres;
