//! The one place where these commands read the clock: to say how long a stage took.

use std::time::Instant;

/// Returns the present moment.
#[allow(clippy::disallowed_methods, reason = "a command line tool is its own composition root")]
pub fn now() -> Instant {
    Instant::now()
}
