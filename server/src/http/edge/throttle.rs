use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::{ErrorCode, Timestamp};

use super::{Peer, warn_of};
use crate::refusal::Refusal;

/// Failures that one address may have at once.
const BURST: f64 = 100.0;
/// Failures that one address may have in the long run, per second. Secrets have 256 bits: this does not keep them from
/// being guessed but the machine from being busy, and many devices may share an address.
const PER_SECOND: f64 = 5.0;
/// Addresses that are remembered, at most.
const PEERS_MAX: usize = 100_000;

/// Lets an address try no more secrets for a while after it had too many wrong ones: a token bucket for each (Turner 1986,
/// the leaky bucket as a meter).
#[derive(Default)]
pub struct Throttle {
    left: Mutex<HashMap<Peer, (f64, Timestamp)>>,
}

impl Throttle {
    /// Refuses an address that has failed too often.
    ///
    /// # Errors
    /// [`ErrorCode::RateLimited`]
    pub fn check(&self, peer: Peer, now: Timestamp) -> Result<(), Refusal> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match left.get(&peer) {
            Some(bucket) if filled(*bucket, now) < 1.0 => {
                warn_of("failures", &format!("{peer} tries too many wrong tokens or keys"));
                let detail = "too many wrong tokens or keys came from this address; try again later";
                Err(Refusal::new(ErrorCode::RateLimited, detail).retry_after(1_000))
            }
            _ => Ok(()),
        }
    }

    /// Notes a failure.
    pub fn fail(&self, peer: Peer, now: Timestamp) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= PEERS_MAX && !left.contains_key(&peer) {
            left.retain(|_, bucket| filled(*bucket, now) < BURST);
            // An attacker with so many addresses is not stopped by their count.
            if left.len() >= PEERS_MAX {
                left.clear();
            }
        }
        let bucket = left.entry(peer).or_insert((BURST, now));
        *bucket = ((filled(*bucket, now) - 1.0).max(0.0), now);
    }
}

fn filled((left, at): (f64, Timestamp), now: Timestamp) -> f64 {
    (left + now.milliseconds_since(at) as f64 / 1000.0 * PER_SECOND).min(BURST)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn who_fails_too_often_must_wait_and_others_need_not() {
        let throttle = Throttle::default();
        let [one, other] = [1, 2].map(|last| Peer::from(IpAddr::from([192, 0, 2, last])));
        let start = Timestamp(1_000_000);
        let tried = (0..1000).take_while(|_| {
            let may = throttle.check(one, start).is_ok();
            throttle.fail(one, start);
            may
        });
        assert_eq!(tried.count(), BURST as usize);
        assert_eq!(throttle.check(one, start).unwrap_err().code(), ErrorCode::RateLimited);
        assert!(throttle.check(other, start).is_ok());
        assert!(throttle.check(one, start.plus_seconds(1)).is_ok());
    }

    #[test]
    fn addresses_are_forgotten_before_they_fill_the_memory() {
        let throttle = Throttle::default();
        for index in 0..=PEERS_MAX as u32 {
            throttle.fail(IpAddr::from(index.to_be_bytes()).into(), Timestamp(1_000_000));
        }
        assert!(throttle.left.lock().unwrap().len() <= PEERS_MAX);
    }
}
