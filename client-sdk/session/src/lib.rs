#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod back_off;
mod effect;
mod event;
mod failure;
mod invalid_transition;
mod offer;
mod persisted;
mod session;
mod state;
mod transition;
mod turn;

pub use back_off::{
    BACK_OFF_MILLISECONDS_MAX, BACK_OFF_MILLISECONDS_MIN, RETRY_AFTER_MILLISECONDS_MAX, back_off_until,
};
pub use effect::{ArtifactKind, Effect, ExchangeStep, RequestId};
pub use event::{Answer, Event, Exchanged};
pub use failure::Failure;
pub use invalid_transition::InvalidTransitionError;
pub use offer::Offer;
pub use persisted::{PERSISTED_VERSION, RestoreError};
pub use session::Session;
pub use state::{
    Aborting, AfterAbort, Exchanging, Fetching, Listening, PreparedUpdate, Resume, State, StopCause,
    UploadPhase, Uploading, Work,
};
pub use transition::{
    ABORT_FAILURES_MAX, DECLINED_MILLISECONDS_MIN, DIGEST_MISMATCHES_MAX, FETCH_FAILURES_MAX,
    PROGRESS_BYTES_MIN, WAIT_MILLISECONDS_MAX, WAIT_MILLISECONDS_MIN,
};
