//! The base of all repositories: connections, transactions, statements and columns.

pub(super) mod blobs;
pub(super) mod column;
pub(super) mod connect;
pub(super) mod dialect;
pub(super) mod durability;
pub(super) mod inspection;
pub(super) mod many;
mod migrations;
pub(super) mod page;
pub(super) mod tables;
pub(super) mod transaction;
