use folkmoot_protocol::Timestamp;
use rand::{Rng, RngExt};

/// The upper bound of the first back-off: half a second.
pub const BACK_OFF_MILLISECONDS_MIN: u64 = 500;
/// The upper bound of any later back-off: a minute.
pub const BACK_OFF_MILLISECONDS_MAX: u64 = 60_000;
/// The longest wait that a coordinator may request: an hour. A bug there must not silence a client forever.
pub const RETRY_AFTER_MILLISECONDS_MAX: u64 = 60 * 60 * 1000;

/// Draws the time of the next attempt after `failures` failures in a row, including the last one.
///
/// Uses exponential back-off with full jitter: uniform between 0 and a bound that doubles. Jitter over the whole
/// interval spreads clients that failed together better than any fixed part would. The wait that the coordinator
/// requests is added.
pub fn back_off_until(
    now: Timestamp,
    failures: u32,
    retry_after_milliseconds: Option<u64>,
    rng: &mut dyn Rng,
) -> Timestamp {
    let doublings = failures.saturating_sub(1).min(16);
    let bound = (BACK_OFF_MILLISECONDS_MIN << doublings).min(BACK_OFF_MILLISECONDS_MAX);
    let asked = retry_after_milliseconds.unwrap_or(0).min(RETRY_AFTER_MILLISECONDS_MAX);
    now.plus_milliseconds(asked + rng.random_range(0..=bound))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn it_grows_up_to_a_minute_and_never_undercuts_what_was_asked() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut longest = |failures| {
            let draw = |_| back_off_until(Timestamp(0), failures, None, &mut rng).0;
            (0..2000).map(draw).max().unwrap()
        };
        assert!((400..=500).contains(&longest(1)));
        assert!((1600..=2000).contains(&longest(3)));
        assert!((50_000..=60_000).contains(&longest(u32::MAX)));
        let asked = back_off_until(Timestamp(1000), 1, Some(7000), &mut rng);
        assert!((8000..=8500).contains(&asked.0));
        let absurd = back_off_until(Timestamp(0), 1, Some(u64::MAX), &mut rng);
        assert!(absurd.0 <= RETRY_AFTER_MILLISECONDS_MAX + BACK_OFF_MILLISECONDS_MIN);
    }
}
