//! The only module of the server that reads the real clock and the operating system's random number generator.

use std::sync::Arc;

use folkmoot_protocol::Timestamp;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A source of the current time: the real clock, or the clock of a test.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Returns the real clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        #[allow(clippy::disallowed_methods, reason = "the composition root owns the clock")]
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(since_1970.map_or(0, |duration| duration.as_millis().try_into().unwrap_or(u64::MAX)))
    })
}

/// Returns a cryptographically secure random number generator, seeded by the operating system.
pub fn system_chance() -> ChaCha20Rng {
    #[allow(clippy::disallowed_methods, reason = "the composition root owns the generator")]
    let mut system = rand::rng();
    ChaCha20Rng::from_rng(&mut system)
}

/// A stopwatch that measures real time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Returns the time since the stopwatch started.
    pub fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}

/// Starts a stopwatch.
pub fn stopwatch() -> Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "the composition root owns the clock")]
    Stopwatch(std::time::Instant::now())
}
