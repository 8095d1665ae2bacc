//! Rollouts: the devices that get a model, and when one is held.

use folkmoot_protocol::{BlobDigest, ClientId, PopulationName};

/// A share of devices, from 0 to 1, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

/// The numbers of devices that have reported about a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// The devices that loaded the model.
    pub loaded: u64,
    /// The devices that could not use it.
    pub failed: u64,
}

/// The number of failures that one faulty device can cause.
const FAILURES_OF_ONE: u64 = 1;

impl Share {
    /// All devices.
    pub const ALL: Self = Self(Self::MILLION);
    const MILLION: u32 = 1_000_000;

    /// Rounds a fraction to millionths. Returns `None` if it is not within 0 and 1.
    pub fn new(fraction: f64) -> Option<Self> {
        let millionths = (fraction * f64::from(Self::MILLION)).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is from 0 to a million"
        )]
        (0.0..=1.0).contains(&fraction).then_some(Self(millionths as u32))
    }

    /// Returns the share with this number of millionths; `None` if there are more than a million.
    pub fn from_millionths(millionths: u64) -> Option<Self> {
        u32::try_from(millionths).ok().filter(|millionths| *millionths <= Self::MILLION).map(Self)
    }

    /// Returns the number of millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// Returns the share as a fraction, 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(Self::MILLION)
    }

    /// Returns whether a device is in this share of a rollout. A device that is in a share is also in each larger one, and
    /// whether it is in it does not depend on other rollouts.
    pub fn includes(self, population: &PopulationName, number: u64, client: ClientId) -> bool {
        let text = format!("folkmoot-rollout {population} {number} {client}");
        let [a, b, c, d, e, f, g, h, ..] = *BlobDigest::of(text.as_bytes()).as_bytes();
        let draw = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let millionth = (u128::from(draw) * u128::from(Self::MILLION)) >> 64;
        millionth < u128::from(self.0)
    }
}

impl Reports {
    /// Returns whether so many devices failed that no other should get the model: more than one device, and more than
    /// `failures_max` of those that reported. So a single faulty device never holds a rollout.
    pub fn must_hold(self, failures_max: Share) -> bool {
        let reported = u128::from(self.loaded) + u128::from(self.failed);
        let is_above =
            u128::from(self.failed) * u128::from(Share::MILLION) > reported * u128::from(failures_max.0);
        self.failed > FAILURES_OF_ONE && is_above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(fraction: f64) -> Share {
        Share::new(fraction).unwrap()
    }

    #[test]
    fn a_share_grows_and_is_as_large_as_it_says() {
        let population: PopulationName = "keyboards".parse().unwrap();
        let client = |i: u32| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&i.to_le_bytes());
            ClientId::from_random_bytes(bytes)
        };
        let in_share = |fraction: f64, number| {
            move |i: &u32| share(fraction).includes(&"keyboards".parse().unwrap(), number, client(*i))
        };
        let tenth: Vec<u32> = (0..10_000).filter(in_share(0.1, 7)).collect();
        // The clients are fixed, so the count is, too. Its deviation is 30.
        assert!((910..=1_090).contains(&tenth.len()), "{}", tenth.len());
        assert!(tenth.iter().all(in_share(0.2, 7)), "a larger share has all devices of a smaller one");
        let again = tenth.iter().filter(|i| in_share(0.1, 8)(i)).count();
        assert!((50..=150).contains(&again), "the next rollout draws other devices: {again}");
        assert!((0..100).all(|i| Share::ALL.includes(&population, 7, client(i))));
        assert!(!(0..100).any(|i| share(0.0).includes(&population, 7, client(i))));
    }

    #[test]
    fn a_share_is_a_fraction() {
        assert_eq!(share(0.25).millionths(), 250_000);
        assert_eq!(Share::from_millionths(250_000), Share::new(0.25));
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::new(wrong), None);
        }
        assert_eq!(Share::from_millionths(1_000_001), None);
    }

    #[test]
    fn failures_hold_a_rollout_but_not_those_of_one_device() {
        let held = |loaded, failed, max| Reports { loaded, failed }.must_hold(share(max));
        assert!(!held(0, 1, 0.0));
        assert!(held(0, 2, 0.05));
        assert!(held(37, 2, 0.05));
        assert!(!held(38, 2, 0.05), "exactly the share is permitted");
        assert!(!held(0, 9, 1.0));
        assert!(held(u64::MAX, 2, 0.0));
    }
}
