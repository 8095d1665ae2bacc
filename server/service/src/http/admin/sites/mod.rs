//! Named sites, in populations whose clients are not an anonymous crowd.

pub(crate) mod list;
pub(crate) mod set_kind;
