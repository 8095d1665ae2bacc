//! The work of an assignment in parts, for hosts that perform the session's effects themselves, such as a browser's
//! worker. The host provides the bytes and the time, and stores the results.

pub use folkmoot_secure_aggregation::Journal;
pub use folkmoot_work::{
    Ask, Budget, Consent, DeviceKey, Exchange, ExchangeNext, ExchangeOrder, OverBudget, WorkError, event_of,
    secure_setting,
};

pub use crate::training::{
    Chunk, ClusterChoice, Evaluation, FinishedWork, Inputs, Made, OwnTensors, Step, Trained, Training,
    allows_own_loop, make, make_masked, own_outcome, parse_parts, parse_plan, parse_weights,
    predicting_weights, schema_of, travelling, with_output, with_own, with_personal,
};
