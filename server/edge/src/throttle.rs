use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use folkmoot_protocol::{ErrorCode, Problem, Timestamp};

use super::{Peer, warn_of};

/// The maximum number of remembered addresses.
const PEERS_MAX: usize = 100_000;

/// Limits the rate of actions per address. Each address has a token bucket of its own (Turner 1986, the leaky bucket as
/// a meter).
pub struct Throttle {
    name: &'static str,
    burst: f64,
    per_second: f64,
    left: Mutex<HashMap<Peer, (f64, Timestamp)>>,
}

impl Throttle {
    /// Creates a limit of `burst` actions at once, and of `per_second` actions per second on average.
    pub fn new(name: &'static str, burst: f64, per_second: f64) -> Self {
        Self { name, burst, per_second, left: Mutex::default() }
    }

    /// Counts an action of an address, and returns whether it is allowed. Programs on this machine are always
    /// allowed.
    pub fn take(&self, peer: Peer, now: Timestamp) -> bool {
        if peer.is_this_machine() {
            return true;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= PEERS_MAX && !left.contains_key(&peer) {
            left.retain(|_, bucket| self.filled(*bucket, now) < self.burst);
            // Forget all addresses. A limit per address would not stop an attacker with this many addresses anyway.
            if left.len() >= PEERS_MAX {
                left.clear();
            }
        }
        let bucket = left.entry(peer).or_insert((self.burst, now));
        let filled = self.filled(*bucket, now);
        let may = filled >= 1.0;
        *bucket = (if may { filled - 1.0 } else { filled }, now);
        drop(left);
        if !may {
            warn_of(self.name, &format!("{peer} exceeds the rate limit per address"));
        }
        may
    }

    /// Counts an action of an address, and refuses it with `detail` if the address exceeds its rate.
    ///
    /// # Errors
    /// [`ErrorCode::RateLimited`] if the address exceeds its rate.
    pub fn check(&self, peer: Peer, now: Timestamp, detail: &str) -> Result<(), Box<Problem>> {
        if self.take(peer, now) {
            return Ok(());
        }
        let problem = Problem::new(ErrorCode::RateLimited, detail);
        Err(Box::new(Problem { retry_after_milliseconds: Some(1_000), ..problem }))
    }

    fn filled(&self, (left, at): (f64, Timestamp), now: Timestamp) -> f64 {
        (left + now.milliseconds_since(at) as f64 / 1000.0 * self.per_second).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn who_does_it_too_often_must_wait_and_others_need_not() {
        let throttle = Throttle::new("test", 100.0, 5.0);
        let [one, other] = [1, 2].map(|last| Peer::from(IpAddr::from([192, 0, 2, last])));
        let start = Timestamp(1_000_000);
        assert_eq!((0..1000).filter(|_| throttle.take(one, start)).count(), 100);
        assert_eq!(throttle.check(one, start, "").unwrap_err().code.known(), Some(ErrorCode::RateLimited));
        assert!(throttle.take(other, start));
        assert_eq!((0..10).filter(|_| throttle.take(one, start.plus_seconds(1))).count(), 5);
    }

    #[test]
    fn a_proxy_on_this_machine_has_no_limit() {
        let throttle = Throttle::new("test", 2.0, 1.0);
        let here = Peer::from(IpAddr::from([127, 0, 0, 1]));
        assert!((0..1000).all(|_| throttle.take(here, Timestamp(1_000_000))));
    }

    #[test]
    fn addresses_are_forgotten_before_they_fill_the_memory() {
        let throttle = Throttle::new("test", 2.0, 1.0);
        for index in 0..=PEERS_MAX as u32 {
            throttle.take(IpAddr::from(index.to_be_bytes()).into(), Timestamp(1_000_000));
        }
        assert!(throttle.left.lock().unwrap().len() <= PEERS_MAX);
    }
}
