//! Tasks, and the changes of their state.

pub(crate) mod activate;
pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod create;
pub(crate) mod endorsement;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod pause;
pub(crate) mod pause_view;
pub(crate) mod resume;
pub(crate) mod roll_back;
pub(crate) mod series;
pub(crate) mod view;
