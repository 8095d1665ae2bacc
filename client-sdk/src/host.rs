use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use folkmoot_protocol::Timestamp;
use rand::{Rng, SeedableRng, TryRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

/// The client's clock and random number generator. All other code takes them as an argument. Copies share one
/// generator.
#[derive(Clone)]
pub struct Host {
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    stopwatch: Arc<dyn Fn() -> Duration + Send + Sync>,
    rng: Arc<Mutex<ChaCha20Rng>>,
}

impl Host {
    /// Creates a host from any clock and a seed, for tests and simulations.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static, seed: [u8; 32]) -> Self {
        let clock: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(clock);
        let same = Arc::clone(&clock);
        Self {
            clock,
            stopwatch: Arc::new(move || Duration::from_millis(same().0)),
            rng: Arc::new(Mutex::new(ChaCha20Rng::from_seed(seed))),
        }
    }

    /// Creates the real host, with the system's clock and a generator seeded by the system.
    ///
    /// # Errors
    /// The operating system's error if it provides no random bytes.
    pub fn system() -> std::io::Result<Self> {
        let mut seed = [0; 32];
        SysRng.try_fill_bytes(&mut seed).map_err(std::io::Error::other)?;
        Ok(Self { stopwatch: system_stopwatch(), ..Self::new(system_time, seed) })
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the time since a fixed but arbitrary moment, for measuring. On the real host it never goes back.
    pub fn elapsed(&self) -> Duration {
        (self.stopwatch)()
    }

    /// Draws random bytes.
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // A panic elsewhere cannot corrupt the generator, so a poisoned lock is safe to use.
        self.rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        bytes
    }

    /// Creates an independent generator, seeded from this one.
    pub(crate) fn fork_rng(&self) -> ChaCha20Rng {
        ChaCha20Rng::from_seed(self.random_bytes())
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

#[allow(clippy::disallowed_methods, reason = "this file is where the real clock enters")]
fn system_stopwatch() -> Arc<dyn Fn() -> Duration + Send + Sync> {
    let begin = Instant::now();
    Arc::new(move || begin.elapsed())
}

#[allow(clippy::disallowed_methods, reason = "this file is where the real clock enters")]
fn system_time() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}
