//! The only place where these commands read the clock. They use it to measure how long a stage takes.

use std::time::Instant;

/// Returns the current time.
#[allow(clippy::disallowed_methods, reason = "a command line tool is its own composition root")]
pub fn now() -> Instant {
    Instant::now()
}
