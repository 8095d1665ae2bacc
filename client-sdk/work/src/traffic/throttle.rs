use std::time::Duration;

use crate::TrafficLimits;

/// The maximum time whose unused bandwidth is kept: after a pause, the bytes of this time may pass at once.
const BURST: Duration = Duration::from_millis(100);

/// The direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the coordinator.
    Up,
    /// From the coordinator.
    Down,
}

/// The bandwidth limit, for each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    bytes_per_second: u64,
    /// The time at which the connection is free again, for each direction.
    free_at: [Duration; 2],
}

impl Throttle {
    /// Returns the throttle of these limits; `None` if they do not limit the bandwidth.
    pub fn of(limits: &TrafficLimits) -> Option<Self> {
        let bytes_per_second = limits.bytes_per_second?.max(1);
        Some(Self { bytes_per_second, free_at: [Duration::ZERO; 2] })
    }

    /// Lets bytes pass and returns the time for which the next bytes have to wait. `elapsed` is the time since any fixed
    /// moment.
    pub fn pass(&mut self, way: Way, bytes: u64, elapsed: Duration) -> Duration {
        let free_at = &mut self.free_at[way as usize];
        let begun = (*free_at).max(elapsed.saturating_sub(BURST));
        *free_at = begun + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        free_at.saturating_sub(elapsed)
    }

    /// Returns the number of bytes to pass on at a time: `most`, or less if the bandwidth is low. At least 1024.
    pub fn piece_bytes(&self, most: usize) -> usize {
        usize::try_from(self.bytes_per_second / 8).map_or(most, |eighth| most.min(eighth)).max(1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wait_for_those_before_them() {
        let milliseconds = Duration::from_millis;
        let limits = TrafficLimits { bytes_per_day: None, bytes_per_second: Some(100_000) };
        let mut throttle = Throttle::of(&limits).expect("there is a limit");
        let now = milliseconds(1_000_000);
        assert_eq!(throttle.pass(Way::Down, 10_000, now), Duration::ZERO, "a tenth of a second's at once");
        assert_eq!(throttle.pass(Way::Down, 50_000, now), milliseconds(500));
        assert_eq!(throttle.pass(Way::Up, 20_000, now), milliseconds(100), "each way by itself");
        let later = now + milliseconds(700);
        assert_eq!(throttle.pass(Way::Down, 20_000, later), milliseconds(100), "a pause is not made up for");
        assert_eq!(throttle.piece_bytes(65_536), 12_500);
        assert_eq!(Throttle::of(&TrafficLimits::default()), None);
    }
}
