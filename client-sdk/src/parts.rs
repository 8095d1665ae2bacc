//! The work of an assignment in parts, for hosts that perform the session's effects themselves, such as a browser's
//! worker. The host provides the bytes and the time, and stores the results.

pub use crate::{
    budget::{Budget, OverBudget},
    consent::{Ask, Consent},
    event::event_of,
    training::{
        Chunk, Evaluation, FinishedWork, Inputs, Made, Step, Training, WorkError, make, parse_parts,
        parse_plan, parse_weights, schema_of, trained_part,
    },
};
