use serde::{Deserialize, Serialize};

/// When a client is to come back: it draws a moment uniformly, so that those who were told the same do not come at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryWindow {
    /// The earliest moment, in milliseconds from now.
    pub milliseconds_min: u64,
    /// The latest moment.
    pub milliseconds_max: u64,
}

/// What a window may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryLimits {
    /// The window of clients that are wanted at once.
    pub shortest: RetryWindow,
    /// The latest moment of any window: it bounds how long a jump of the demand waits for clients.
    pub milliseconds_max: u64,
    /// Check-ins per second that are welcome whatever the demand, so that a small deployment stays quick.
    pub arrivals_per_second_min: f64,
}

/// Half a second to five; an hour; two.
impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            shortest: RetryWindow { milliseconds_min: 500, milliseconds_max: 5_000 },
            milliseconds_max: 60 * 60 * 1000,
            arrivals_per_second_min: 2.0,
        }
    }
}

/// A window ends at this many times its middle, and begins as far before it.
const END: f64 = 4.0 / 3.0;
const BEGIN: f64 = 2.0 / 3.0;
/// The longest window, whatever a configuration says: a day.
const MILLISECONDS_MAX: u64 = 24 * 60 * 60 * 1000;

impl RetryLimits {
    /// Returns the longest wait around which a window still fits under the limit.
    pub(super) fn wait_seconds_max(&self) -> f64 {
        self.longest() as f64 / 1000.0 / END
    }

    /// Returns the window around a wait, wide enough that clients spread.
    pub(super) fn window_around(&self, seconds: f64) -> RetryWindow {
        let shortest = RetryWindow {
            milliseconds_min: self.shortest.milliseconds_min.min(self.longest()),
            milliseconds_max: self
                .shortest
                .milliseconds_max
                .max(self.shortest.milliseconds_min)
                .min(self.longest()),
        };
        let middle = (shortest.milliseconds_min as f64 + shortest.milliseconds_max as f64) / 2.0;
        let milliseconds = seconds * 1000.0;
        if milliseconds <= middle {
            return shortest;
        }
        let milliseconds_min = ((milliseconds * BEGIN) as u64).max(shortest.milliseconds_min);
        let milliseconds_max = ((milliseconds * END) as u64).min(self.longest()).max(milliseconds_min);
        RetryWindow { milliseconds_min, milliseconds_max }
    }

    fn longest(&self) -> u64 {
        self.milliseconds_max.min(MILLISECONDS_MAX)
    }
}
