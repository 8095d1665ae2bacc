use folkmoot_protocol::saturating::to_whole;
use serde::{Deserialize, Serialize};

/// The window in which a client should come back. The client picks a uniformly random moment in it, so that clients
/// with the same window do not come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryWindow {
    /// The earliest moment, in milliseconds from now.
    pub milliseconds_min: u64,
    /// The latest moment, in milliseconds from now.
    pub milliseconds_max: u64,
}

/// The limits on retry windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryLimits {
    /// The window of clients that are needed immediately.
    pub shortest: RetryWindow,
    /// The latest moment of any window, in milliseconds. It limits how long a sudden demand waits for clients.
    pub milliseconds_max: u64,
    /// The check-ins per second that are accepted even without demand, to keep small deployments responsive.
    pub arrivals_per_second_min: f64,
}

/// Shortest window: 0.5 to 5 seconds. Latest moment: one hour. Arrivals: at least 2 per second.
impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            shortest: RetryWindow { milliseconds_min: 500, milliseconds_max: 5_000 },
            milliseconds_max: 60 * 60 * 1000,
            arrivals_per_second_min: 2.0,
        }
    }
}

/// The end and the beginning of a window, relative to its middle.
const END: f64 = 4.0 / 3.0;
const BEGIN: f64 = 2.0 / 3.0;
/// The longest window, regardless of the configuration: one day.
const MILLISECONDS_MAX: u64 = 24 * 60 * 60 * 1000;

impl RetryLimits {
    /// Returns the longest wait whose window still fits below the limit.
    pub(super) fn wait_seconds_max(&self) -> f64 {
        self.longest() as f64 / 1000.0 / END
    }

    /// Returns a window around a wait, wide enough to spread clients.
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
        let milliseconds_min = to_whole(milliseconds * BEGIN).max(shortest.milliseconds_min);
        let milliseconds_max = to_whole(milliseconds * END).min(self.longest()).max(milliseconds_min);
        RetryWindow { milliseconds_min, milliseconds_max }
    }

    fn longest(&self) -> u64 {
        self.milliseconds_max.min(MILLISECONDS_MAX)
    }
}
