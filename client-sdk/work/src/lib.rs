#![doc = include_str!("../README.md")]

mod budget;
mod care;
mod consent;
mod day;
// In a browser, Web Crypto verifies signatures, so the module does not contain the code.
#[cfg(not(target_family = "wasm"))]
mod endorsement;
mod event;
mod exchange;
mod log;
mod pauses;
mod prefetch;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod traffic;
mod work_error;

pub use budget::{Budget, OverBudget};
pub use care::{Care, Counting, DeviceConditions, DevicePolicy, PauseReason, Thermal, TimeToStore};
pub use consent::{Ask, Consent};
pub use day::{DAY_MILLISECONDS, DayCount, DayTime, tomorrow, until_tomorrow, wait_for_day};
#[cfg(not(target_family = "wasm"))]
pub use endorsement::{EndorsementKeys, NotEndorsed, SeenEndorsements};
pub use event::{ClientEvent, event_of};
pub use exchange::{DeviceKey, Exchange, ExchangeNext, ExchangeOrder, secure_setting};
pub use log::{Log, LogAction, LogEntry, Note, note_before, note_of, note_of_step};
pub use pauses::{Pause, Pauses, Phase};
pub use prefetch::{Prefetch, may_prefetch};
pub use traffic::{BYTES_PER_SECOND_MIN, DayBytes, Throttle, TrafficLimits, Way, bytes_needed};
pub use work_error::WorkError;
