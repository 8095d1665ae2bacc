//! What tasks promise their clients, and what was spent of it.

pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod statement;
