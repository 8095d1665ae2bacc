//! The work of an assignment in parts, for hosts that perform the session's effects themselves, such as a browser's
//! worker. The host provides the bytes and the time, and stores the results.

pub use folkmoot_work::{Ask, Budget, Consent, OverBudget, WorkError, event_of};

pub use crate::training::{
    Chunk, Evaluation, FinishedWork, Inputs, Made, Step, Training, make, parse_parts, parse_plan,
    parse_weights, schema_of, trained_part, with_output,
};
