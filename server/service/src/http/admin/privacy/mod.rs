//! The privacy that tasks promise, and the part of their budgets that is spent.

pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod statement;
