//! The open sessions of an organisation's keys and people, for its admins.

pub(crate) mod end;
pub(crate) mod end_of_person;
pub(crate) mod list;
